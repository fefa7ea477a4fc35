/* Prints the devices that the packaged library finds; the CPU is always one. */
#include <rlx/rlx.h>
#include <stdio.h>

int main(void) {
  rlx_session *s = NULL;
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  rlx_status status = rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu"}, &s);
  if (!status) status = rlx_session_device(s, &info);
  printf("rlx %s: %s\n", rlx_version(), status ? rlx_message() : info.name);
  rlx_session_destroy(s);
  return status != RLX_OK;
}
