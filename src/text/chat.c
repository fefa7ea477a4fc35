/* Chat templates: a conversation as the text format that a model was trained on.
 *
 * A model stores its template as a Jinja program. Nearly all of them are one of about thirty formats, so each format
 * is a row of the table below, recognised by characteristic parts of the template's text. A row defines how a turn of
 * each role is written (\1 stands for its text), the start of the reply, where the system text goes if it has no turn
 * of its own, and the default system text. Any other template is run (chat_program.c): with a nearly right format the
 * model answers badly and the user does not see why.
 *
 * This file has the table and the recognition; chat_write.c writes a conversation by a row. */
#include <jansson.h>
#include <string.h>

#include "io/file_json.h"
#include "text/chat.h"
#include "text/text.h"

#define IM(ROLE) "<|im_start|>" ROLE "\n\1<|im_end|>\n"
#define CHATML \
  .system = IM("system"), .user = IM("user"), .assistant = IM("assistant"), .reply = "<|im_start|>assistant\n"
#define HEADER(ROLE) "<|start_header_id|>" ROLE "<|end_header_id|>\n\n"
#define HEADER4(ROLE) "<|header_start|>" ROLE "<|header_end|>\n\n"
#define COHERE(ROLE) "<|START_OF_TURN_TOKEN|><|" ROLE "_TOKEN|>"
#define DEEPSEEK_USER "<\xef\xbd\x9cUser\xef\xbd\x9c>"
#define DEEPSEEK_ASSISTANT \
  "<\xef\xbd\x9c"          \
  "Assistant\xef\xbd\x9c>"
#define DEEPSEEK_END \
  "<\xef\xbd\x9c"    \
  "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>"

/* The first matching row is used, so specific rows come before general ones. */
static const chat_form forms[] = {
  {"smollm2",
   {"<|im_start|>", "named SmolLM, trained by Hugging Face<|im_end|>"},
   {0},
   CHATML,
   .fallback = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"},
  {"qwen2.5",
   {"<|im_start|>", "You are Qwen, created by Alibaba Cloud"},
   {0},
   CHATML,
   .fallback = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."},
  {"qwen3",
   {"<|im_start|>", "<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content", "enable_thinking"},
   {"'<think>\\n' }}"},
   CHATML,
   .thoughts = QWEN3_THOUGHTS},
  {"qwen2",
   {"<|im_start|>", "You are a helpful assistant.<|im_end|>"},
   {0},
   CHATML,
   .fallback = "You are a helpful assistant."},
  {"qwen1.5",
   {"<|im_start|>", "You are a helpful assistant<|im_end|>"},
   {0},
   CHATML,
   .fallback = "You are a helpful assistant"},
  {"phi4",
   {"<|im_start|>", "<|im_sep|>"},
   {0},
   .system = "<|im_start|>system<|im_sep|>\1<|im_end|>",
   .user = "<|im_start|>user<|im_sep|>\1<|im_end|>",
   .assistant = "<|im_start|>assistant<|im_sep|>\1<|im_end|>",
   .reply = "<|im_start|>assistant<|im_sep|>"},
  {"chatml",
   {"<|im_start|>", "<|im_end|>"},
   {"<end_of_utterance>", "<think>", "You are MiMo", "You are a function calling"},
   CHATML,
   .fallback = NULL},
  {"mistral-v7-tekken",
   {"[SYSTEM_PROMPT]", "[INST]"},
   {"[SYSTEM_PROMPT] ", "<<SYS>>", "default_system_message"},
   .system = "[SYSTEM_PROMPT]\1[/SYSTEM_PROMPT]",
   .user = "[INST]\1[/INST]",
   .assistant = "\1</s>",
   .reply = ""},
  {"mistral-v7",
   {"[SYSTEM_PROMPT] ", "[INST] "},
   {"<<SYS>>"},
   .system = "[SYSTEM_PROMPT] \1[/SYSTEM_PROMPT]",
   .user = "[INST] \1[/INST]",
   .assistant = " \1</s>",
   .reply = ""},
  {"mistral-v3-tekken",
   {"[AVAILABLE_TOOLS]", "\"[INST]\""},
   {0},
   .system = "\1\n\n",
   .user = "[INST]\1[/INST]",
   .assistant = "\1</s>",
   .reply = "",
   .place = LAST_USER},
  {"mistral-v3",
   {"[AVAILABLE_TOOLS]", "[INST] "},
   {0},
   .system = "\1\n\n",
   .user = "[INST] \1[/INST]",
   .assistant = " \1</s>",
   .reply = "",
   .place = LAST_USER,
   .trims = TRIM_ASSISTANT},
  {"mistral-v1",
   {"' [INST] '"},
   {"<<SYS>>"},
   .system = "\1\n\n",
   .user = " [INST] \1 [/INST]",
   .assistant = " \1</s>",
   .reply = "",
   .place = FIRST_USER},
  {"llama2",
   {"[INST]", "<<SYS>>"},
   {0},
   .system = "<<SYS>>\n\1\n<</SYS>>\n\n",
   .user = "[INST] \1 [/INST]",
   .assistant = " \1 </s>",
   .reply = "",
   .again = "<s>",
   .place = FIRST_USER,
   .trims = TRIM_USER | TRIM_ASSISTANT},
  {"mistral-v0",
   {"[INST] ", "eos_token"},
   {"<<SYS>>", "[SYSTEM_PROMPT]"},
   .system = "\1\n\n",
   .user = "[INST] \1 [/INST]",
   .assistant = "\1</s>",
   .reply = "",
   .place = FIRST_USER},
  {"phi3",
   {"<|assistant|>", "<|end|>", "<|user|>"},
   {"<|content|>"},
   .system = "<|system|>\n\1<|end|>\n",
   .user = "<|user|>\n\1<|end|>\n",
   .assistant = "<|assistant|>\n\1<|end|>\n",
   .reply = "<|assistant|>\n"},
  {"stablelm",
   {"<|assistant|>", "<|user|>", "<|endoftext|>"},
   {0},
   .system = "<|system|>\n\1<|endoftext|>\n",
   .user = "<|user|>\n\1<|endoftext|>\n",
   .assistant = "<|assistant|>\n\1<|endoftext|>\n",
   .reply = "<|assistant|>\n"},
  {"zephyr",
   {"<|assistant|>", "<|user|>", "['content'] + eos_token"},
   {"<|tool", "'\\n' + message['content'] + eos"},
   .system = "<|system|>\n\1</s>\n",
   .user = "<|user|>\n\1</s>\n",
   .assistant = "<|assistant|>\n\1</s>\n",
   .reply = "<|assistant|>\n"},
  {"falcon3",
   {"<|assistant|>", "<|user|>", "eos_token"},
   {"<|tool", "<sop>"},
   .system = "<|system|>\n\1\n",
   .user = "<|user|>\n\1\n",
   .assistant = "<|assistant|>\n\1<|endoftext|>\n",
   .reply = "<|assistant|>\n"},
  {"gemma",
   {"<start_of_turn>", "<end_of_turn>"},
   {0},
   .system = "\1\n\n",
   .user = "<start_of_turn>user\n\1<end_of_turn>\n",
   .assistant = "<start_of_turn>model\n\1<end_of_turn>\n",
   .reply = "<start_of_turn>model\n",
   .place = FIRST_USER,
   .trims = TRIM_USER | TRIM_ASSISTANT},
  {"llama3.1",
   {"<|start_header_id|>", "Cutting Knowledge Date: December 2023"},
   {"<function"},
   .system = HEADER("system") "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n\1<|eot_id|>",
   .user = HEADER("user") "\1<|eot_id|>",
   .assistant = HEADER("assistant") "\1<|eot_id|>",
   .reply = HEADER("assistant"),
   .fallback = "",
   .trims = TRIM_ALL},
  {"llama3",
   {"<|start_header_id|>", "<|end_header_id|>"},
   {"strftime_now", "functions"},
   .system = HEADER("system") "\1<|eot_id|>",
   .user = HEADER("user") "\1<|eot_id|>",
   .assistant = HEADER("assistant") "\1<|eot_id|>",
   .reply = HEADER("assistant"),
   .trims = TRIM_ALL},
  {"llama4",
   {"<|header_start|>", "<|header_end|>"},
   {0},
   .system = HEADER4("system") "\1<|eot|>",
   .user = HEADER4("user") "\1<|eot|>",
   .assistant = HEADER4("assistant") "\1<|eot|>",
   .reply = HEADER4("assistant"),
   .trims = TRIM_ALL},
  {"command-r",
   {"<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>"},
   {"<|START_THINKING|>", "<|START_RESPONSE|>", "Available Tools"},
   .system = COHERE("SYSTEM") "\1<|END_OF_TURN_TOKEN|>",
   .user = COHERE("USER") "\1<|END_OF_TURN_TOKEN|>",
   .assistant = COHERE("CHATBOT") "\1<|END_OF_TURN_TOKEN|>",
   .reply = COHERE("CHATBOT"),
   .trims = TRIM_USER | TRIM_ASSISTANT},
  {"deepseek-r1",
   {DEEPSEEK_USER, DEEPSEEK_ASSISTANT "<think>\\n"},
   {"thinking", DEEPSEEK_USER "' + message['content'] + '" DEEPSEEK_END},
   .system = "\1",
   .user = DEEPSEEK_USER "\1",
   .assistant = DEEPSEEK_ASSISTANT "\1" DEEPSEEK_END,
   .reply = DEEPSEEK_ASSISTANT "<think>\n",
   .thoughts = DROP_THOUGHTS},
  {"deepseek3",
   {DEEPSEEK_USER, DEEPSEEK_ASSISTANT, DEEPSEEK_END},
   {"thinking", DEEPSEEK_USER "' + message['content'] + '" DEEPSEEK_END},
   .system = "\1",
   .user = DEEPSEEK_USER "\1",
   .assistant = DEEPSEEK_ASSISTANT "\1" DEEPSEEK_END,
   .reply = DEEPSEEK_ASSISTANT,
   .thoughts = DROP_THOUGHTS},
  {"deepseek2",
   {"'Assistant: ' + message['content'] + eos_token"},
   {0},
   .system = "\1\n\n",
   .user = "User: \1\n\n",
   .assistant = "Assistant: \1" DEEPSEEK_END,
   .reply = "Assistant:"},
  {"deepseek",
   {"### Instruction:", "<|EOT|>"},
   {0},
   .system = "\1",
   .user = "### Instruction:\n\1\n",
   .assistant = "### Response:\n\1\n<|EOT|>\n",
   .reply = "### Response:\n"},
  {"vicuna",
   {"USER: ", "ASSISTANT: "},
   {"SYSTEM: "},
   .system = "\1\n\n",
   .user = "USER: \1\n",
   .assistant = "ASSISTANT: \1</s>\n",
   .reply = "ASSISTANT:"},
  {"vicuna-orca",
   {"USER: ", "ASSISTANT: ", "SYSTEM: "},
   {0},
   .system = "SYSTEM: \1\n",
   .user = "USER: \1\n",
   .assistant = "ASSISTANT: \1</s>\n",
   .reply = "ASSISTANT:"},
  {"openchat",
   {"GPT4 Correct "},
   {0},
   .system = "\1<|end_of_turn|>",
   .user = "GPT4 Correct User: \1<|end_of_turn|>",
   .assistant = "GPT4 Correct Assistant: \1<|end_of_turn|>",
   .reply = "GPT4 Correct Assistant:"},
  {"exaone3",
   {"[|system|]", "[|assistant|]", "[|endofturn|]"},
   {"[|tool|]"},
   .system = "[|system|]\1[|endofturn|]\n",
   .user = "[|user|]\1\n",
   .assistant = "[|assistant|]\1[|endofturn|]\n",
   .reply = "[|assistant|]",
   .trims = TRIM_ALL},
  {"minicpm",
   {"<\xe7\x94\xa8\xe6\x88\xb7>"},
   {0},
   .system = "\1",
   .user = "<\xe7\x94\xa8\xe6\x88\xb7>\1<AI>",
   .assistant = "\1",
   .reply = "",
   .trims = TRIM_ALL},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

uint32_t rlx_chat_template_count(void) { return N_FORMS; }
const char *rlx_chat_template_name(uint32_t i) { return i < N_FORMS ? forms[i].name : NULL; }

static void list_names(rlx_str *out) {
  for (size_t i = 0; i < N_FORMS; i++) rlx_str_add(out, "%s%s", i ? " " : "", forms[i].name);
}

/* ---- Recognition --------------------------------------------------------------------------------------------- */

static bool holds(text_span text, const char *piece) {
  size_t n = strlen(piece);
  for (size_t at = 0; at + n <= text.n;) {
    const char *p = memchr(text.p + at, piece[0], text.n - at - n + 1);
    if (!p) return false;
    if (memcmp(p, piece, n) == 0) return true;
    at = (size_t)(p - text.p) + 1;
  }
  return false;
}

static bool fits(const chat_form *f, text_span text) {
  for (size_t i = 0; i < sizeof f->has / sizeof *f->has && f->has[i]; i++)
    if (!holds(text, f->has[i])) return false;
  for (size_t i = 0; i < sizeof f->lacks / sizeof *f->lacks && f->lacks[i]; i++)
    if (holds(text, f->lacks[i])) return false;
  return true;
}

const char *text_chat_recognise(const char *text, size_t bytes) {
  for (size_t i = 0; i < N_FORMS; i++)
    if (fits(&forms[i], (text_span){text, bytes})) return forms[i].name;
  return NULL;
}

/* In a list of templates, the one named "default". */
static json_t *template_in(json_t *config) {
  json_t *t = json_object_get(config, "chat_template"), *e;
  size_t i;
  for (i = 0; (e = json_array_get(t, i)); i++) {
    const char *name = json_string_value(json_object_get(e, "name"));
    if (name && strcmp(name, "default") == 0) return json_object_get(e, "template");
  }
  return t;
}

rlx_status text_chat_template_of(const rlx_file *f, char **text, size_t *n) {
  rlx_meta m;
  json_t *config = NULL, *t;
  *text = NULL;
  *n = 0;
  if ((rlx_file_meta_find(f, "tokenizer.chat_template", &m) || rlx_file_meta_find(f, "chat_template.jinja", &m)) &&
      m.kind == RLX_META_TEXT) {
    *n = m.n;
    return text_copy(m.text, m.n, text);
  }
  if (!rlx_file_meta_find(f, "tokenizer_config.json", &m) || m.kind != RLX_META_TEXT) return RLX_OK;
  RLX_TRY(text_load_config((text_span){m.text, m.n}, &config));
  t = template_in(config);
  rlx_status s = RLX_OK;
  if (json_is_string(t)) {
    *n = json_string_length(t);
    s = text_copy(json_string_value(t), *n, text);
  }
  json_decref(config);
  return s;
}

const char *rlx_chat_template_of(const rlx_file *f) {
  char *text;
  size_t n;
  if (!f) {
    (void)RLX_FAIL(RLX_INVALID, "rlx_chat_template_of: file is NULL");
    return NULL;
  }
  if (text_chat_template_of(f, &text, &n)) return NULL;
  const char *name = text ? text_chat_recognise(text, n) : NULL;
  if (!name) {
    rlx_str known = {0};
    list_names(&known);
    (void)RLX_FAIL(
      text ? RLX_UNSUPPORTED : RLX_NOT_FOUND, "the file %s; a template can be chosen by name (--template): %s",
      text ? "has a chat template that is not supported by name" : "has no chat template", known.failed ? "" : known.v);
    rlx_str_deinit(&known);
  }
  rlx_mem_free(text);
  return name;
}

/* ---- By name --------------------------------------------------------------------------------------------------- */

rlx_status chat_form_find(const char *name, const chat_form **out) {
  for (size_t i = 0; i < N_FORMS; i++)
    if (strcmp(forms[i].name, name) == 0) {
      *out = &forms[i];
      return RLX_OK;
    }
  rlx_str known = {0};
  list_names(&known);
  rlx_status s =
    RLX_FAIL(RLX_NOT_FOUND, "there is no chat template '%.100s'; these are: %s", name, known.failed ? "" : known.v);
  rlx_str_deinit(&known);
  return s;
}
