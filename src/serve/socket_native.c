/* What libmicrohttpd leaves to the system's sockets: addresses, and whether the client of a suspended connection is
 * still there. */
#if defined(_WIN32)
#include <winsock2.h>
/* after it */
#include <ws2tcpip.h>
#else
#define _GNU_SOURCE /* POLLRDHUP */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#endif
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "serve/serve.h"

#if defined(_WIN32)
/* Looks at what has come without taking it; connections of libmicrohttpd do not wait. */
bool sv_socket_is_gone(MHD_socket fd) {
  char byte;
  int n = recv(fd, &byte, 1, MSG_PEEK);
  return n == 0 || (n < 0 && WSAGetLastError() != WSAEWOULDBLOCK);
}

void sv_socket_end(MHD_socket fd) { shutdown(fd, SD_BOTH); }

const char *sv_system_error(void) {
  static _Thread_local char text[40];
  int error = WSAGetLastError();
  if (error == WSAEADDRINUSE) return "the address is in use";
  if (error == WSAEACCES) return "no permission";
  if (error == WSAEADDRNOTAVAIL) return "this machine has no such address";
  snprintf(text, sizeof text, "error %d of the sockets", error);
  return text;
}
#else
#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif

bool sv_socket_is_gone(MHD_socket fd) {
  struct pollfd p = {.fd = fd, .events = POLLRDHUP};
  return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

void sv_socket_end(MHD_socket fd) { shutdown(fd, SHUT_RDWR); }

const char *sv_system_error(void) { return strerror(errno); }
#endif

rlx_status sv_address_of(const char *host, uint32_t port, struct sockaddr **out) {
  const char *number = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
  struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
  const bool is_v4 = inet_pton(AF_INET, number, &v4.sin_addr) == 1;
  *out = NULL;
  if (!is_v4 && inet_pton(AF_INET6, number, &v6.sin6_addr) != 1)
    return RLX_FAIL(RLX_INVALID, "host '%s': expected an address of this machine, such as 127.0.0.1, 0.0.0.0 or ::1",
                    host);
  *out = rlx_mem_alloc(sizeof v6);
  if (!*out) return RLX_FAIL(RLX_NO_MEMORY, "an address");
  memcpy(*out, is_v4 ? (const void *)&v4 : (const void *)&v6, is_v4 ? sizeof v4 : sizeof v6);
  return RLX_OK;
}

bool sv_address_is_v6(const struct sockaddr *address) { return address->sa_family == AF_INET6; }
