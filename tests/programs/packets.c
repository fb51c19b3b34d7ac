// Puts N packets of IPv4 into the loopback device, as if they had come from elsewhere:
//   packets SOURCE DESTINATION PROTOCOL LENGTH FLAGS N
// LENGTH: bytes with the header. FLAGS: the header's 16 bits of flags and offset: 0x4000 one piece only, 0x2000 a first piece.
// packets accept PORT BACKLOG N: listens at the port, and asks for N connections, which nobody accepts
// packets late N: sends N bytes, of which each is acknowledged by a timer
// packets fill PORT N: sends as much as there is room for to each of N connections, which nobody reads
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned short checksum(const unsigned short* words, int count) {
  unsigned sum = 0;
  while (count--) sum += *words++;
  sum = (sum & 0xffff) + (sum >> 16);
  return (unsigned short)~(sum + (sum >> 16));
}

static int fail(const char* what) {
  perror(what);
  return 1;
}

static int connect_unaccepted(int port, int backlog, int n, int fills) {
  static char zeros[65536];
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr*)&at, sizeof at) || listen(listener, backlog)) return fail("listen");
  for (int i = 0; i < n; i++) {
    int one = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(one, (struct sockaddr*)&at, sizeof at);
    usleep(20000);
    while (fills && write(one, zeros, sizeof zeros) > 0) {}
  }
  return 0;
}

static int acknowledge_late(int n) {
  struct sockaddr_in at = {.sin_family = AF_INET};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  int listener = socket(AF_INET, SOCK_STREAM, 0), one = socket(AF_INET, SOCK_STREAM, 0), off = 0;
  char byte = 0;
  if (bind(listener, (struct sockaddr*)&at, sizeof at) || listen(listener, 1) || getsockname(listener, (struct sockaddr*)&at, &size)) return fail("listen");
  if (connect(one, (struct sockaddr*)&at, sizeof at)) return fail("connect");
  int reader = accept(listener, NULL, NULL);
  while (n-- > 0) {
    setsockopt(reader, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off);
    if (write(one, &byte, 1) != 1 || read(reader, &byte, 1) != 1) return fail("byte");
    usleep(300000);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 5 && strcmp(argv[1], "accept") == 0) return connect_unaccepted(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), 0);
  if (argc == 4 && strcmp(argv[1], "fill") == 0) return connect_unaccepted(atoi(argv[2]), atoi(argv[3]), atoi(argv[3]), 1);
  if (argc == 3 && strcmp(argv[1], "late") == 0) return acknowledge_late(atoi(argv[2]));
  if (argc != 7) return 2;
  static unsigned char packet[65536];
  struct iphdr* header = (struct iphdr*)packet;
  int length = atoi(argv[4]);
  if (length < (int)sizeof *header || length > (int)sizeof packet) return 2;
  header->version = 4;
  header->ihl = 5;
  header->ttl = 9;
  header->id = htons(7);
  header->protocol = (unsigned char)atoi(argv[3]);
  header->tot_len = htons((unsigned short)length);
  header->frag_off = htons((unsigned short)strtol(argv[5], NULL, 0));
  header->saddr = inet_addr(argv[1]);
  header->daddr = inet_addr(argv[2]);
  header->check = checksum((unsigned short*)header, 10);
  int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP));
  struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_halen = 6, .sll_ifindex = (int)if_nametoindex("lo")};
  for (int i = atoi(argv[6]); i > 0; i--) {
    if (sendto(fd, packet, (size_t)length, 0, (struct sockaddr*)&to, sizeof to) != length) return fail("sendto");
  }
  return 0;
}
