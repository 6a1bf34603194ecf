/*
 * The floor: the least that a server of Salt's request port can do for one `_return` of version 3, in C.
 * Source: docs/protocol.md sections 1.1, 2.1 to 2.3, 4 and 9.
 *
 * It takes a request from a ROUTER, verifies and decrypts it, reads the nonce, seals the reply that a Salt master gives
 * to `_return`, and sends that. It stores nothing, checks no token, publishes nothing and makes no events: what a master
 * spends beyond it is the price of those. One thread works; libzmq has one I/O thread beside it.
 *
 *   cc -O2 -o floor floor.c -lzmq -lcrypto          (OpenSSL 3, libzmq 4.2 or later)
 *   floor KEYS [PORT]      KEYS: a file of lines `id keystring`; PORT 0 (default) takes a free one.
 *
 * The id `*` stands for every minion without a line: each of them has a session of its own from its first request on.
 * On standard output it says `ready PORT VERSIONS` and nothing more. It ends by a signal, or with its parent process.
 */
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <zmq.h>

enum {
  IV_BYTES = 16,
  BLOCK_BYTES = 16,
  MAC_BYTES = 32,
  AES_KEY_BYTES = 24,
  HMAC_KEY_BYTES = 32,
  NONCE_BYTES = 32,
  KEY_TEXT_CHARS = 76,
  ID_BYTES_MAX = 255,
  /* Two contexts for AES and one for the HMAC: some 2 KB each minion. */
  SESSIONS_MAX = 1 << 17,
  /* "pickle::", the nonce, nil: 41 bytes, padded to 48. */
  REPLY_PLAIN_BYTES = 48,
  REPLY_TOKEN_BYTES = IV_BYTES + REPLY_PLAIN_BYTES + MAC_BYTES,
  REPLY_BYTES = 3 + REPLY_TOKEN_BYTES,
  /* One draw of random bytes serves so many seals; a draw for each would cost more than it must. */
  IVS_DRAWN = 256,
  /* A request beyond it costs its connection, as with the master's `request_max_bytes`. */
  REQUEST_BYTES_MAX = 100 * 1024 * 1024,
  BACKLOG = 1000,
  DEPTH_MAX = 128,
};

static const uint8_t PREFIX[8] = {'p', 'i', 'c', 'k', 'l', 'e', ':', ':'};
/* What cannot be opened is answered with this text; see section 0, item 10. */
static const uint8_t BAD_LOAD[9] = {0xa8, 'b', 'a', 'd', ' ', 'l', 'o', 'a', 'd'};

typedef struct {
  const uint8_t *at;
  size_t bytes;
} Span;

static void fail(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fputs("floor: ", stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
  exit(2);
}

static void need(int is_done, const char *what) { if (!is_done) fail("%s failed", what); }

/* ---- Sessions: a minion's key, with contexts that hold the expanded keys from one request to the next. ---- */

typedef struct {
  char *id;
  size_t id_bytes;
  EVP_CIPHER_CTX *open;
  EVP_CIPHER_CTX *seal;
  EVP_MAC_CTX *mac;
} Session;

/* Open addressing; at most half of the slots are taken, so that every search ends. Pages that nobody touches cost nothing. */
static Session slots[2 * SESSIONS_MAX];
static size_t session_count;
static EVP_CIPHER *aes;
static EVP_MAC *hmac;

static uint64_t hash_of(const void *bytes, size_t length) {
  const uint8_t *at = bytes;
  uint64_t hash = 14695981039346656037ull; /* FNV-1a */
  for (size_t index = 0; index < length; index++) hash = (hash ^ at[index]) * 1099511628211ull;
  return hash;
}

/* The slot of this id: its session, or the free one where it would stand. */
static Session *slot_of(const void *id, size_t length) {
  for (size_t index = hash_of(id, length);; index++) {
    Session *slot = &slots[index & (2 * SESSIONS_MAX - 1)];
    if (slot->id == NULL || (slot->id_bytes == length && memcmp(slot->id, id, length) == 0)) return slot;
  }
}

/* @returns 0 for text that is not Base64 of exactly the two keys */
static int keys_of(const char *text, uint8_t keys[AES_KEY_BYTES + HMAC_KEY_BYTES]) {
  if (strlen(text) != KEY_TEXT_CHARS || text[KEY_TEXT_CHARS - 1] != '=') return 0;
  uint8_t raw[KEY_TEXT_CHARS / 4 * 3]; /* padding is decoded to a zero byte at the end */
  if (EVP_DecodeBlock(raw, (const uint8_t *)text, KEY_TEXT_CHARS) != sizeof raw) return 0;
  memcpy(keys, raw, AES_KEY_BYTES + HMAC_KEY_BYTES);
  OPENSSL_cleanse(raw, sizeof raw);
  return 1;
}

static EVP_CIPHER_CTX *cipher_of(const uint8_t *key, int is_sealing) {
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  need(context != NULL && EVP_CipherInit_ex(context, aes, NULL, key, NULL, is_sealing), "EVP_CipherInit_ex");
  /* Padded by hand: a whole message is then one update and no final call. */
  need(EVP_CIPHER_CTX_set_padding(context, 0), "EVP_CIPHER_CTX_set_padding");
  return context;
}

static uint8_t any_keys[AES_KEY_BYTES + HMAC_KEY_BYTES]; /* of the line `*` */
static int has_any;

/* @returns NULL if there is one of that id, or if there are too many */
static Session *add_session(const void *id, size_t id_bytes, const uint8_t *keys) {
  OSSL_PARAM digest[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA256", 0), OSSL_PARAM_END};
  Session *session = slot_of(id, id_bytes);
  if (session->id != NULL || session_count == SESSIONS_MAX) return NULL;
  session->id = malloc(id_bytes);
  need(session->id != NULL, "malloc");
  memcpy(session->id, id, id_bytes);
  session->id_bytes = id_bytes;
  session->open = cipher_of(keys, 0);
  session->seal = cipher_of(keys, 1);
  session->mac = EVP_MAC_CTX_new(hmac);
  need(EVP_MAC_init(session->mac, keys + AES_KEY_BYTES, HMAC_KEY_BYTES, digest), "EVP_MAC_init");
  session_count++;
  return session;
}

/* @returns NULL for a minion without key */
static Session *session_of(Span id) {
  Session *session = slot_of(id.at, id.bytes);
  if (session->id != NULL) return session;
  return has_any && id.bytes <= ID_BYTES_MAX ? add_session(id.at, id.bytes, any_keys) : NULL;
}

static void read_sessions(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) fail("%s: %s", path, strerror(errno));
  char line[ID_BYTES_MAX + KEY_TEXT_CHARS + 8];
  for (int number = 1; fgets(line, sizeof line, file) != NULL; number++) {
    char *text = strchr(line, ' ');
    uint8_t keys[AES_KEY_BYTES + HMAC_KEY_BYTES];
    line[strcspn(line, "\n")] = 0;
    if (text == NULL || text == line) fail("%s:%d: expected `id keystring`", path, number);
    *text++ = 0;
    if (!keys_of(text, keys)) fail("%s:%d: not a session key string", path, number);
    if (strcmp(line, "*") == 0) {
      memcpy(any_keys, keys, sizeof keys);
      has_any = 1;
    } else if (add_session(line, strlen(line), keys) == NULL) {
      fail("%s:%d: %s stands there twice, or after too many", path, number, line);
    }
    OPENSSL_cleanse(keys, sizeof keys);
  }
  fclose(file);
  OPENSSL_cleanse(line, sizeof line);
  if (session_count == 0 && !has_any) fail("%s: no session keys", path);
}

/* ---- Msgpack, as far as finding a member of a map needs it. Every offset is held against the end. ---- */

static int is_text(Span span, const char *text) {
  return span.bytes == strlen(text) && memcmp(span.at, text, span.bytes) == 0;
}

static uint64_t big_endian(const uint8_t *at, int bytes) {
  uint64_t value = 0;
  for (int index = 0; index < bytes; index++) value = value << 8 | at[index];
  return value;
}

/* What starts a value: `size` bytes of content or `count` values follow its head. `is_string`: raw, str or bin. */
typedef struct {
  uint64_t size, count;
  int is_map, is_string;
} Head;

/* Bytes of a length field by code - 0xc0, or of a number's content where the code has no length field. */
static const uint8_t LENGTHS[32] = {0, 0, 0, 0, 1, 2, 4, 1, 2, 4, 4, 8, 1, 2, 4, 8,
                                    1, 2, 4, 8, 1, 2, 4, 8, 16, 1, 2, 4, 2, 4, 2, 4};

/* Reads a head and moves `rest` behind it. @returns 0 if it is cut off */
static int take_head(Span *rest, Head *head) {
  if (rest->bytes == 0) return 0;
  uint8_t code = rest->at[0];
  *head = (Head){0};
  size_t length = 0;
  if (code < 0x80 || code >= 0xe0) {
    /* a small integer: the code is all of it */
  } else if (code < 0x90) {
    head->is_map = 1;
    head->count = 2u * (code & 15);
  } else if (code < 0xa0) {
    head->count = code & 15;
  } else if (code < 0xc0) {
    head->is_string = 1;
    head->size = code & 31;
  } else {
    length = LENGTHS[code - 0xc0];
    if (rest->bytes < 1 + length) return 0;
    uint64_t value = big_endian(rest->at + 1, length > 8 ? 8 : (int)length);
    head->is_string = (code >= 0xc4 && code <= 0xc6) || (code >= 0xd9 && code <= 0xdb);
    if (head->is_string) head->size = value;
    else if (code >= 0xc7 && code <= 0xc9) head->size = value + 1; /* ext: and its type */
    else if (code >= 0xd4 && code <= 0xd8) head->size = 1;         /* fixext: its type, the content is `length` */
    else if (code == 0xdc || code == 0xdd) head->count = value;
    else if (code >= 0xde) head->is_map = 1, head->count = 2 * value;
  }
  rest->at += 1 + length;
  rest->bytes -= 1 + length;
  return head->size <= rest->bytes && head->count <= rest->bytes;
}

/* Moves `rest` behind one whole value. */
static int skip(Span *rest, int depth) {
  Head head;
  if (depth > DEPTH_MAX || !take_head(rest, &head)) return 0;
  rest->at += head.size;
  rest->bytes -= head.size;
  for (uint64_t index = 0; index < head.count; index++)
    if (!skip(rest, depth + 1)) return 0;
  return 1;
}

/* Moves `rest` behind a string. @returns 0 if the value is none */
static int take_string(Span *rest, Span *string) {
  Head head;
  if (!take_head(rest, &head) || !head.is_string) return 0;
  *string = (Span){rest->at, head.size};
  rest->at += head.size;
  rest->bytes -= head.size;
  return 1;
}

/* One walk over a map: where its key is `names[i]` and its value a string, `values[i]` is that. @returns 0 if it is no whole map */
static int read_map(Span whole, int count, const char *const names[], Span values[], int *version) {
  Head head;
  if (!take_head(&whole, &head) || !head.is_map) return 0;
  for (uint64_t index = 0; index < head.count; index += 2) {
    Span key, value, start;
    if (!take_string(&whole, &key)) return 0;
    start = whole;
    if (version != NULL && is_text(key, "version") && whole.bytes > 0) *version = whole.at[0];
    for (int name = 0; name < count; name++)
      if (is_text(key, names[name]) && take_string(&start, &value)) values[name] = value;
    if (!skip(&whole, 0)) return 0;
  }
  return whole.bytes == 0;
}

/* ---- A request. ---- */

static void mac_of(Session *session, const uint8_t *bytes, size_t length, uint8_t mac[MAC_BYTES]) {
  size_t written;
  need(EVP_MAC_init(session->mac, NULL, 0, NULL) && EVP_MAC_update(session->mac, bytes, length) &&
           EVP_MAC_final(session->mac, mac, &written, MAC_BYTES),
       "HMAC");
}

/* The HMAC first, in constant time; then the plaintext without prefix and padding. @returns 0 if it does not verify */
static int open_token(Session *session, Span token, Span *plain) {
  static uint8_t *buffer; /* the largest so far */
  static size_t capacity;
  uint8_t mac[MAC_BYTES];
  if (token.bytes < IV_BYTES + BLOCK_BYTES + MAC_BYTES) return 0;
  size_t length = token.bytes - IV_BYTES - MAC_BYTES;
  mac_of(session, token.at, IV_BYTES + length, mac);
  if (CRYPTO_memcmp(mac, token.at + IV_BYTES + length, MAC_BYTES) != 0 || length % BLOCK_BYTES != 0) return 0;
  if (capacity < length) need((buffer = realloc(buffer, capacity = length)) != NULL, "realloc");
  int written;
  need(EVP_DecryptInit_ex(session->open, NULL, NULL, NULL, token.at) &&
           EVP_DecryptUpdate(session->open, buffer, &written, token.at + IV_BYTES, (int)length),
       "decryption");
  size_t padding = buffer[length - 1];
  if (padding > length || length - padding < sizeof PREFIX || memcmp(buffer, PREFIX, sizeof PREFIX) != 0) return 0;
  *plain = (Span){buffer + sizeof PREFIX, length - padding - sizeof PREFIX};
  return 1;
}

static const uint8_t *next_iv(void) {
  static uint8_t drawn[IVS_DRAWN * IV_BYTES];
  static size_t used = sizeof drawn;
  if (used == sizeof drawn) {
    need(RAND_bytes(drawn, sizeof drawn), "RAND_bytes");
    used = 0;
  }
  used += IV_BYTES;
  return drawn + used - IV_BYTES;
}

/* The reply to `_return`: nil behind the request's nonce, sealed, as one raw string. */
static void seal_reply(Session *session, const uint8_t *nonce, uint8_t frame[REPLY_BYTES]) {
  uint8_t plain[REPLY_PLAIN_BYTES];
  size_t length = sizeof PREFIX + NONCE_BYTES;
  memcpy(plain, PREFIX, sizeof PREFIX);
  memcpy(plain + sizeof PREFIX, nonce, NONCE_BYTES);
  plain[length++] = 0xc0;
  memset(plain + length, (int)(sizeof plain - length), sizeof plain - length);
  frame[0] = 0xda;
  frame[1] = REPLY_TOKEN_BYTES >> 8;
  frame[2] = REPLY_TOKEN_BYTES & 255;
  uint8_t *token = frame + 3;
  int written;
  memcpy(token, next_iv(), IV_BYTES);
  need(EVP_EncryptInit_ex(session->seal, NULL, NULL, NULL, token) &&
           EVP_EncryptUpdate(session->seal, token + IV_BYTES, &written, plain, sizeof plain),
       "encryption");
  mac_of(session, token, IV_BYTES + REPLY_PLAIN_BYTES, token + IV_BYTES + REPLY_PLAIN_BYTES);
}

/* @returns the bytes of the reply: a sealed one, or "bad load" for what no master would open */
static size_t answer(Span frame, uint8_t reply[REPLY_BYTES]) {
  static const char *const outer_names[] = {"enc", "load", "id"};
  static const char *const inner_names[] = {"id", "nonce"};
  Span outer[3] = {{0}}, inner[2] = {{0}}, plain;
  int version = 0;
  memcpy(reply, BAD_LOAD, sizeof BAD_LOAD);
  if (!read_map(frame, 3, outer_names, outer, &version)) return sizeof BAD_LOAD;
  if (version != 3 || !is_text(outer[0], "aes") || outer[2].bytes == 0) return sizeof BAD_LOAD;
  Session *session = session_of(outer[2]);
  if (session == NULL || !open_token(session, outer[1], &plain)) return sizeof BAD_LOAD;
  if (!read_map(plain, 2, inner_names, inner, NULL) || inner[1].bytes != NONCE_BYTES) return sizeof BAD_LOAD;
  if (inner[0].bytes != outer[2].bytes || memcmp(inner[0].at, outer[2].at, outer[2].bytes) != 0) return sizeof BAD_LOAD;
  seal_reply(session, inner[1].at, reply);
  return REPLY_BYTES;
}

/* ---- The socket: [identity][empty][payload] in, the same out. ---- */

static void *open_router(int port, char *endpoint, size_t endpoint_bytes) {
  void *router = zmq_socket(zmq_ctx_new(), ZMQ_ROUTER);
  need(router != NULL, "zmq_socket");
  int backlog = BACKLOG, linger = 0;
  int64_t bytes_max = REQUEST_BYTES_MAX;
  zmq_setsockopt(router, ZMQ_BACKLOG, &backlog, sizeof backlog);
  zmq_setsockopt(router, ZMQ_LINGER, &linger, sizeof linger);
  zmq_setsockopt(router, ZMQ_MAXMSGSIZE, &bytes_max, sizeof bytes_max);
  char wanted[64];
  snprintf(wanted, sizeof wanted, port == 0 ? "tcp://127.0.0.1:*" : "tcp://127.0.0.1:%d", port);
  if (zmq_bind(router, wanted) != 0) fail("%s: %s", wanted, zmq_strerror(zmq_errno()));
  need(zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, endpoint, &endpoint_bytes) == 0, "zmq_getsockopt");
  return router;
}

static void serve(void *router) {
  zmq_msg_t parts[3]; /* a fourth part and more are read and dropped */
  for (;;) {
    int count = 0;
    for (int more = 1; more; count++) {
      zmq_msg_t *part = &parts[count < 3 ? count : 2];
      if (count >= 3) zmq_msg_close(part);
      zmq_msg_init(part);
      if (zmq_msg_recv(part, router, 0) < 0) fail("receive: %s", zmq_strerror(zmq_errno()));
      more = zmq_msg_more(part);
    }
    if (count == 3 && zmq_msg_size(&parts[1]) == 0) {
      uint8_t reply[REPLY_BYTES];
      size_t bytes = answer((Span){zmq_msg_data(&parts[2]), zmq_msg_size(&parts[2])}, reply);
      /* A ROUTER drops the reply to a peer that went. */
      zmq_msg_send(&parts[0], router, ZMQ_SNDMORE);
      zmq_msg_send(&parts[1], router, ZMQ_SNDMORE);
      zmq_send(router, reply, bytes, 0);
    }
    for (int index = 0; index < (count < 3 ? count : 3); index++) zmq_msg_close(&parts[index]);
  }
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) fail("usage: floor KEYS [PORT]");
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  char *end = NULL, endpoint[64] = "";
  long port = argc == 3 ? strtol(argv[2], &end, 10) : 0;
  if ((end != NULL && *end != 0) || port < 0 || port > 65535) fail("%s is no port", argv[2]);
  aes = EVP_CIPHER_fetch(NULL, "AES-192-CBC", NULL);
  hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
  need(aes != NULL && hmac != NULL, "EVP_fetch");
  read_sessions(argv[1]);
  void *router = open_router((int)port, endpoint, sizeof endpoint);
  int version[3];
  zmq_version(&version[0], &version[1], &version[2]);
  printf("ready %s libzmq %d.%d.%d, OpenSSL %s\n", strrchr(endpoint, ':') + 1, version[0], version[1], version[2],
         OpenSSL_version(OPENSSL_VERSION_STRING));
  fflush(stdout);
  serve(router);
}
