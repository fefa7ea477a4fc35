/* Chat templates: a conversation as the text that a model was taught with.
 *
 * Models bring a program for this in a language of templates. It is not run here: nearly all of them do one of some thirty
 * things, so each of these is a row of the table below, with the pieces of a template's text by which it is known. What a row
 * says: how a turn of each role is written (\1 stands for its text), the head of the reply, where the system's text goes if it has
 * no turn of its own, and the text it has where the conversation brings none. A template that no row knows is refused, since
 * nearly right is wrong: the model answers badly and nobody sees why.
 *
 * BOS is not part of the text: encoding adds it to the first (RLX_TOKENS_ADD_SPECIAL), where the model wants it. */
#include <jansson.h>
#include <string.h>

#include "text/text.h"

typedef enum system_place { OWN_TURN, FIRST_USER, LAST_USER } system_place;
enum { TRIM_SYSTEM = 1, TRIM_USER = 2, TRIM_ASSISTANT = 4, TRIM_ALL = 7 };

typedef struct chat_form {
  const char *name;
  const char *has[4], *lacks[4]; /* pieces of the template's text */
  const char *system, *user, *assistant, *reply;
  const char *fallback; /* the system's text where there is none; NULL: then it has no turn */
  const char *again;    /* before the turns of the user, but the first */
  system_place place;
  unsigned trims;
  enum { KEEP_THOUGHTS, DROP_THOUGHTS, QWEN3_THOUGHTS } thoughts;
} chat_form;

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

/* The first row that fits is taken, so the particular stand before the general. */
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

uint32_t rlx_chat_templates(void) { return N_FORMS; }
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

/* Of a list of templates, the one that is called "default". */
static json_t *template_in(json_t *config) {
  json_t *t = json_object_get(config, "chat_template"), *e;
  size_t i;
  for (i = 0; (e = json_array_get(t, i)); i++) {
    const char *name = json_string_value(json_object_get(e, "name"));
    if (name && strcmp(name, "default") == 0) return json_object_get(e, "template");
  }
  return t;
}

const char *rlx_chat_template_of(const rlx_file *f) {
  rlx_meta m;
  json_t *config = NULL, *t = NULL;
  text_span text = {0};
  const char *name = NULL;
  if (!f) {
    (void)RLX_FAIL(RLX_INVALID, "rlx_chat_template_of: file is NULL");
    return NULL;
  }
  if ((rlx_file_meta_find(f, "tokenizer.chat_template", &m) || rlx_file_meta_find(f, "chat_template.jinja", &m)) &&
      m.kind == RLX_META_TEXT) {
    text = (text_span){m.text, m.n};
  } else if (rlx_file_meta_find(f, "tokenizer_config.json", &m) && m.kind == RLX_META_TEXT) {
    config = json_loadb(m.text, m.n, JSON_ALLOW_NUL, NULL);
    t = template_in(config);
    if (json_is_string(t)) text = (text_span){json_string_value(t), json_string_length(t)};
  }
  if (text.p) name = text_chat_recognise(text.p, text.n);
  if (!name) {
    rlx_str known = {0};
    list_names(&known);
    (void)RLX_FAIL(
      text.p ? RLX_UNSUPPORTED : RLX_NOT_FOUND, "the file %s; a template can be chosen by name (--template): %s",
      text.p ? "has a chat template that is not known here" : "has no chat template", known.failed ? "" : known.v);
    rlx_str_deinit(&known);
  }
  json_decref(config);
  return name;
}

/* ---- Writing ------------------------------------------------------------------------------------------------- */

typedef enum role { SYSTEM, USER, ASSISTANT } role;

typedef struct conversation {
  const chat_form *form;
  const rlx_chat_message *messages;
  size_t n, last_user;  /* n: there is none */
  rlx_str out, waiting; /* waiting: the system's text, for a turn of the user */
  bool had_user;
} conversation;

static bool role_of(const char *name, role *out) {
  static const char *const names[] = {"system", "user", "assistant"};
  for (int i = 0; i < 3; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (role)i;
      return true;
    }
  return false;
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static text_span trimmed(text_span s) {
  while (s.n && is_blank(s.p[0])) s.p++, s.n--;
  while (s.n && is_blank(s.p[s.n - 1])) s.n--;
  return s;
}

/* `form` with the text where \1 stands; `first` is put before the text. */
static void add_form(rlx_str *out, const char *form, text_span first, text_span text) {
  const char *place = strchr(form, '\1');
  rlx_str_add_bytes(out, form, place ? (size_t)(place - form) : strlen(form));
  if (!place) return;
  rlx_str_add_bytes(out, first.p, first.n);
  rlx_str_add_bytes(out, text.p, text.n);
  rlx_str_add_bytes(out, place + 1, strlen(place + 1));
}

/* Models that think aloud are not shown again what they thought, but for what follows the last question. */
static void add_assistant(conversation *c, size_t i, text_span text) {
  static const char end[] = "</think>";
  const chat_form *f = c->form;
  text_span none = {"", 0}, thought = none;
  const char *after = NULL;
  for (const char *p = text.p; f->thoughts && (p = strstr(p, end)); p++) after = p;
  if (after) {
    size_t skip = (size_t)(after - text.p) + sizeof end - 1;
    thought = (text_span){text.p, (size_t)(strstr(text.p, end) - text.p)};
    text = (text_span){text.p + skip, text.n - skip};
  }
  if (f->thoughts != QWEN3_THOUGHTS) {
    add_form(&c->out, f->assistant, none, text);
    return;
  }
  if (after)
    while (text.n && text.p[0] == '\n') text.p++, text.n--;
  bool is_last = i + 1 == c->n, is_answer = c->last_user == c->n || i > c->last_user;
  for (const char *p = thought.p; thought.n && (p = strstr(p, "<think>")) && p < thought.p + thought.n;) {
    p += 7;
    thought.n -= (size_t)(p - thought.p);
    thought.p = p;
  }
  while (thought.n && thought.p[0] == '\n') thought.p++, thought.n--;
  while (thought.n && thought.p[thought.n - 1] == '\n') thought.n--;
  if (!is_answer || !(is_last || thought.n)) {
    add_form(&c->out, f->assistant, none, text);
    return;
  }
  rlx_str first = {0};
  while (text.n && text.p[0] == '\n') text.p++, text.n--;
  rlx_str_add(&first, "<think>\n%.*s\n</think>\n\n", thought.n > INT32_MAX ? 0 : (int)thought.n, thought.p);
  if (first.failed) c->out.failed = true;
  else add_form(&c->out, f->assistant, (text_span){first.v, first.n}, text);
  rlx_str_deinit(&first);
}

static void add_system(conversation *c, text_span text) {
  if (c->form->trims & TRIM_SYSTEM) text = trimmed(text);
  add_form(c->form->place == OWN_TURN ? &c->out : &c->waiting, c->form->system, (text_span){"", 0}, text);
}

static void add_user(conversation *c, size_t i, text_span text) {
  const chat_form *f = c->form;
  text_span first = {"", 0};
  if (f->trims & TRIM_USER) text = trimmed(text);
  if (c->waiting.n && (f->place == FIRST_USER || i == c->last_user)) first = (text_span){c->waiting.v, c->waiting.n};
  if (c->had_user && f->again) rlx_str_add(&c->out, "%s", f->again);
  add_form(&c->out, f->user, first, text);
  if (first.n) c->waiting.n = 0;
  c->had_user = true;
}

static rlx_status write_all(conversation *c, bool reply) {
  role r = SYSTEM;
  c->last_user = c->n;
  for (size_t i = 0; i < c->n; i++) {
    const rlx_chat_message *m = &c->messages[i];
    if (!m->role || !m->text) return RLX_FAIL(RLX_INVALID, "message %zu has no %s", i, m->role ? "text" : "role");
    if (!role_of(m->role, &r))
      return RLX_FAIL(RLX_INVALID, "message %zu is of the role '%.100s'; these are: system, user, assistant", i,
                      m->role);
    if (r == USER) c->last_user = i;
  }
  bool has_system = c->n && role_of(c->messages[0].role, &r) && r == SYSTEM;
  if (!has_system && c->form->fallback) add_system(c, (text_span){c->form->fallback, strlen(c->form->fallback)});
  for (size_t i = 0; i < c->n; i++) {
    const rlx_chat_message *m = &c->messages[i];
    text_span text = {m->text, strlen(m->text)};
    (void)role_of(m->role, &r);
    if (r == SYSTEM) add_system(c, text);
    else if (r == USER) add_user(c, i, text);
    else add_assistant(c, i, c->form->trims & TRIM_ASSISTANT ? trimmed(text) : text);
  }
  if (reply) rlx_str_add(&c->out, "%s", c->form->reply);
  rlx_str_add_bytes(&c->out, "", 0);
  return c->out.failed || c->waiting.failed ? RLX_FAIL(RLX_NO_MEMORY, "a conversation of %zu messages", c->n) : RLX_OK;
}

rlx_status rlx_chat_format(const char *name, const rlx_chat_message *messages, size_t n, bool reply, char **text) {
  if (!text) return RLX_FAIL(RLX_INVALID, "rlx_chat_format: text is NULL");
  *text = NULL;
  if (!name || (!messages && n))
    return RLX_FAIL(RLX_INVALID, "rlx_chat_format: %s is NULL", name ? "messages" : "name");
  conversation c = {.messages = messages, .n = n};
  for (size_t i = 0; i < N_FORMS; i++)
    if (strcmp(forms[i].name, name) == 0) c.form = &forms[i];
  if (!c.form) {
    rlx_str known = {0};
    list_names(&known);
    rlx_status s =
      RLX_FAIL(RLX_NOT_FOUND, "there is no chat template '%.100s'; these are: %s", name, known.failed ? "" : known.v);
    rlx_str_deinit(&known);
    return s;
  }
  rlx_status s = write_all(&c, reply);
  rlx_str_deinit(&c.waiting);
  if (s) {
    rlx_str_deinit(&c.out);
    return s;
  }
  return rlx_str_take(&c.out, text);
}
