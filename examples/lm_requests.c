/* Several texts at once: requests that begin and end at any time, each with settings of its own.
 *
 *   lm_requests MODEL
 *
 * The first one's prompt is computed; the others begin with the same text, which the model still holds. */
#include <rlx/lm.h>
#include <stdio.h>
#include <string.h>

#define SHARED                                                                                         \
  "Gravity is the force by which a planet or other body draws objects toward its center. The force "   \
  "of gravity keeps all of the planets in orbit around the sun, and the moon in orbit around the "     \
  "earth. The farther away two bodies are from each other, the weaker is the force between them, and " \
  "the more mass they have, the stronger it is. "

typedef struct answer {
  const char *prompt;
  double temperature;
  char text[400];
  size_t n;
} answer;

static void on_event(void *user, const rlx_lm_event *e) {
  answer *a = user;
  size_t room = sizeof a->text - 1 - a->n, n = e->bytes < room ? e->bytes : room;
  memcpy(a->text + a->n, e->text, n);
  a->n += n;
  if (e->ended)
    printf("request %d: %u of the prompt's tokens computed, %u held; ended by %s\n  %s\n", (int)e->request,
           (unsigned)e->stats->n_prompt_tokens, (unsigned)e->stats->n_held, e->ended, a->text);
}

static rlx_status submit(rlx_lm *lm, answer *a) {
  int32_t *ids;
  size_t n;
  uint64_t number;
  rlx_status s =
    rlx_tokenizer_encode(rlx_lm_tokenizer(lm), a->prompt, strlen(a->prompt), RLX_TOKENS_ADD_SPECIAL, &ids, &n);
  if (s) return s;
  rlx_lm_options options = {RLX_LM_OPTIONS_INIT, .max_tokens = 24, .temperature = a->temperature, .seed = 1,
                            .presence_penalty = 0.5};
  rlx_lm_request request = {RLX_LM_REQUEST_INIT, .ids = ids, .n = n, .options = &options, .fn = on_event, .user = a};
  s = rlx_lm_submit(lm, &request, &number); /* copies the prompt and the options */
  rlx_free(ids);
  return s;
}

static rlx_status step_all(rlx_lm *lm) {
  uint32_t left = 0;
  rlx_status s;
  do s = rlx_lm_step(lm, &left);
  while (!s && left);
  return s;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    puts("usage: lm_requests MODEL.gguf; tools/fetch_model smollm2 fetches a model");
    return 0;
  }
  answer answers[] = {
    {.prompt = SHARED "In short"}, {.prompt = SHARED "Newton", .temperature = 0.8}, {.prompt = SHARED "On the moon"}};
  rlx_lm_desc desc = {RLX_LM_DESC_INIT, .path = argv[1], .n_sequences = 3, .context = 512};
  rlx_lm *lm = NULL;
  rlx_status s = rlx_lm_load(&desc, &lm);
  if (!s) s = submit(lm, &answers[0]);
  if (!s) s = step_all(lm);
  for (size_t i = 1; !s && i < sizeof answers / sizeof *answers; i++) s = submit(lm, &answers[i]);
  if (!s) s = step_all(lm);
  if (s) fprintf(stderr, "%s: %s\n", rlx_status_name(s), rlx_message());
  rlx_lm_destroy(lm);
  return s != RLX_OK;
}
