/**
 * Every option of the master, with Salt's names and defaults.
 * Source: salt.config of Salt 3007 (checked by test/config/defaults.test.ts against its recorded defaults); docs/config.md is generated.
 */
import { apiOptions } from "./api.ts";
import { clusterOptions } from "./cluster.ts";
import { contentOptions } from "./content.ts";
import { day, kept, logLevels, mebibyte, ours, path, port, seconds, timerSecondsMax } from "./details.ts";
import { gitOptions } from "./git.ts";
import { jobOptions } from "./jobs.ts";
import { networksFault } from "./networks.ts";
import { any, boolean, choice, integer, list, listOrMap, map, number, optional, text, textOrList } from "./option.ts";
import { sitePythonOptions } from "./site-python.ts";
import { syndicOptions } from "./syndics.ts";

const sockets = {
  interface: text("0.0.0.0", "Address on which both ports listen; the command line connects to it, too."),
  ipv6: optional(boolean(false, "Listen on and accept IPv6.")),
  publish_port: integer(4505, "Port on which minions subscribe to publications.", port),
  ret_port: integer(4506, "Port for minions' requests and returns, and for the commands of operators' clients.", port),
  zmq_backlog: integer(1_000, "Connections that wait to be accepted, per port. Raise it for thousands of minions.", {
    min: 1,
    max: 1_000_000,
    unit: "connections",
  }),
  pub_hwm: integer(
    1_000,
    "Most publications that wait for one minion. Further ones are dropped for that minion only. 0: only their bytes are bounded.",
    {
      min: 0,
      max: 10_000_000,
      unit: "messages",
    },
  ),
  zmq_monitor: boolean(false, "Log events of the ZeroMQ sockets.", kept),
  zmq_filtering: boolean(false, "Send publications for a list of minions only to these minions, by topic."),
  tcp_keepalive: boolean(true, "Let the kernel test idle connections."),
  tcp_keepalive_idle: number(300, "Idle time before the first test; -1: the system's default.", {
    min: -1,
    max: 32_767,
    unit: "seconds",
  }),
  tcp_keepalive_cnt: number(-1, "Failed tests after which a connection is closed; -1: the system's default.", {
    min: -1,
    max: 127,
  }),
  tcp_keepalive_intvl: number(-1, "Time between tests; -1: the system's default.", {
    min: -1,
    max: 32_767,
    unit: "seconds",
  }),
  transport: choice("zeromq", ["zeromq"], "Transport protocol. Only ZeroMQ here; Salt also has tcp and ws.", kept),
  max_open_files: integer(
    100_000,
    "Open files that the process may need: one per connection. Started by root, the master raises its limit to this number. If the limit stays below, the log says so.",
    { min: 1, max: 1_073_741_824, unit: "files" },
  ),
};

const places = {
  root_dir: text("/", "Prefix of all the directories below."),
  pki_dir: text(
    "/etc/salt/pki/master",
    "Directory of keys: the master's own, and the minions' in `minions`, `minions_pre`, `minions_rejected`, `minions_denied`.",
    path,
  ),
  cachedir: text(
    "/var/cache/salt/master",
    "Directory of data that outlasts a restart: job cache, minion data, sealed secrets, keys of local users.",
    path,
  ),
  sock_dir: text("/var/run/salt/master", "Directory of the event bus and other local sockets.", path),
  pidfile: text(
    "/var/run/salt-master.pid",
    "File with the daemon's process id, written at start and removed at the end; empty: none.",
    path,
  ),
  log_file: text(
    "/var/log/salt/master",
    "Log of the daemon: a file, or the system's log as `file:///dev/log`, `udp://HOST:PORT`, `tcp://HOST:PORT`, with a facility at the end such as `/LOG_DAEMON`.",
    path,
  ),
  audit_log: text(
    "",
    "File for a JSON line about each login, refusal and command of operators, without arguments: docs/external-auth.md. Empty: none.",
    { ...path, ...ours },
  ),
  key_logfile: text("/var/log/salt/key", "Log of the key command.", { ...path, ...kept }),
  log_level: choice("warning", logLevels, "Log level of the console."),
  log_level_logfile: optional(
    choice("warning", logLevels, "Log level of the log file; unset: the same as `log_level`."),
  ),
  user: text(
    "root",
    "The master becomes this user if root starts it. The user owns its files and `.<user>_key`. Not set: the user that starts it.",
  ),
  id: text("", "Name of this master in events and in the dropfile; empty: `<fqdn>_master`."),
  append_domain: text("", "Domain added to a computed id that doesn't end in it."),
  default_include: text(
    "master.d/*.conf",
    "Pattern of further files, relative to this one. Their values replace those of this file.",
  ),
  include: textOrList([], "Further files or patterns, read last. Their values replace all others."),
  accept_missing: list(
    [],
    "Options that feed minions or guard something and are not built here (listed below). The master starts without the ones that this list names.",
    ours,
  ),
  sqlite_queue_dir: text("/var/cache/salt/master/queues", "Directory of the queues of the runner `queue`.", path),
  verify_env: boolean(true, "Create missing directories and set their modes.", kept),
};

const load = {
  worker_threads: integer(
    5,
    "Threads that decrypt, check, store and answer requests. Without this option the master starts one fewer than the machine has cores, at least one and at most this default.",
    { min: 1, max: 256, unit: "threads" },
  ),
  partitions: integer(
    64,
    "Partitions over which minions are spread. One worker at a time serves a partition. Needs to be well above `worker_threads`.",
    { ...ours, min: 1, max: 4_096 },
  ),
  batch_max_frames: integer(256, "Most requests in one batch for a worker.", {
    ...ours,
    min: 1,
    max: 16_384,
    unit: "frames",
  }),
  batch_max_bytes: integer(mebibyte, "Most bytes in one batch for a worker. A larger request is a batch of its own.", {
    ...ours,
    min: 1_024,
    max: 1024 * mebibyte,
    unit: "bytes",
  }),
  batch_linger_us: integer(
    40_000,
    "How long at most a minion's request waits for others, so that one batch serves about eight of them. A request waits only if others are likely to come in time, and not if its client asks one thing after the other. Once 16 requests wait, or 512 KiB of them, they leave at once. 0: none waits. Rounded up to whole milliseconds.",
    { ...ours, min: 0, max: 1_000_000, unit: "us" },
  ),
  worker_heap_mb: integer(
    4_096,
    "JavaScript heap of one worker or runner thread. A thread that outgrows it ends and is replaced; its batches run once more.",
    { ...ours, min: 64, max: 1_048_576, unit: "MiB" },
  ),
  batches_in_flight: integer(
    1,
    "Batches handed to one worker at once. With one, batches are larger and cost less; with two, the worker does not wait for the next.",
    {
      ...ours,
      min: 1,
      max: 16,
    },
  ),
  queue_max_bytes: integer(
    64 * mebibyte,
    "Most bytes of requests that wait for one worker. When requests of proven connections alone reach it, the master stops reading these connections. At half of it the master stops reading other connections.",
    { ...ours, min: 65_536, max: 64 * 1024 * mebibyte, unit: "bytes" },
  ),
  request_max_bytes: integer(
    100 * mebibyte,
    "Largest request. A larger one closes its connection and has no other effect.",
    {
      ...ours,
      min: 65_536,
      max: 2_000 * mebibyte,
      unit: "bytes",
    },
  ),
  connections_per_address_max: integer(
    16_384,
    "Most connections of one address (IPv6: of one /64) to the publish port, and most connections to the request port that are not proven yet. Further ones are closed. 0: no bound.",
    { ...ours, max: 10_000_000, unit: "connections" },
  ),
  trusted_proxies: list(
    [],
    "Addresses and networks (`10.0.0.0/8`) with many minions behind them. `connections_per_address_max` does not apply to these.",
    { ...ours, entriesFault: networksFault },
  ),
  auth_queue_max: integer(
    20_000,
    "Most authentications that wait, one per minion. Further minions get no answer and try again.",
    { ...ours, min: 1, max: 10_000_000, unit: "requests" },
  ),
  auth_client_timeout: integer(
    5,
    "How long minions wait for the answer to an authentication (their `auth_timeout`); older ones are dropped. A low value drops authentications that could still be answered, a high one answers minions that have gone.",
    { ...ours, min: 1, max: 3_600, unit: "seconds" },
  ),
  rsa_threads: integer(
    2,
    "Threads for RSA: authentications, pillars, signatures of publishes. They yield to all others. More threads than cores do not help.",
    { ...ours, min: 1, max: 64, unit: "threads" },
  ),
  max_event_size: integer(
    mebibyte,
    "Largest event; a larger return is shown as VALUE_TRIMMED in the event and kept whole in the store.",
    { min: 1_024, max: 64 * mebibyte, unit: "bytes" },
  ),
  event_subscriber_max_bytes: integer(
    64 * mebibyte,
    "Most bytes of events that wait for one slow subscriber. Further events are dropped for this subscriber and counted.",
    { ...ours, min: 65_536, max: 16 * 1024 * mebibyte, unit: "bytes" },
  ),
  ipc_write_buffer: any(0, "Salt's bound on a subscriber's buffer; here `event_subscriber_max_bytes` does that.", kept),
  sock_pool_size: integer(1, "Number of Salt's sockets to its workers. The threads here need no sockets.", {
    ...kept,
    min: 1,
    max: 1_024,
  }),
  loop_interval: number(60, "Time between rounds of maintenance.", { min: 1, max: timerSecondsMax, unit: "seconds" }),
  maintenance_interval: integer(3_600, "Time between rounds of slow maintenance.", { ...kept, ...seconds }),
};

const minions = {
  minion_data_cache: boolean(true, "Keep each minion's grains and pillar; targeting by these needs it."),
  minion_data_cache_events: boolean(true, "Fire an event when a minion's kept grains or pillar change.", kept),
  preserve_minion_cache: boolean(false, "Keep a minion's data when its key is deleted."),
  cache: text("localfs", "Salt's backend for minion data; here it is always LMDB.", kept),
  con_cache: boolean(false, "Salt's list of connected minions; here presence does that.", kept),
  key_cache: text("", "Salt's list of accepted keys; here it is always in memory.", kept),
  presence_events: boolean(
    false,
    "Fire `salt/presence/present` and `salt/presence/change` in each round of maintenance.",
  ),
  presence_timeout: integer(90, "A minion counts as connected this long after it was last heard.", {
    ...ours,
    min: 5,
    max: timerSecondsMax,
    unit: "seconds",
  }),
  detect_remote_minions: boolean(false, "Also look for minions that connect to port 22.", kept),
  ping_on_rotate: boolean(
    false,
    "Send `test.ping` to all minions after a key rotation, so that they fetch the new key at once.",
  ),
  max_minions: integer(0, "Most connected minions. Further minions are refused. 0: no limit.", {
    min: 0,
    max: 10_000_000,
    unit: "minions",
  }),
  enforce_mine_cache: boolean(false, "Store the mine even without `minion_data_cache`."),
  mine_get: any(
    null,
    "Which minions may read which functions of mines: patterns of ids, each with a list of patterns of functions. Not set: all minions, all functions.",
  ),
  peer: map(
    {},
    "Which minions may publish what: patterns of ids, each with a list of patterns of functions, or of maps from a target to such a list, which then holds for minions of that target only. `True` permits nothing, as in Salt.",
    { asDefault: [true, false] },
  ),
  peer_run: map(
    {},
    "Which minions may call which runners: patterns of ids, each with a list of patterns of functions. `True` permits nothing, as in Salt.",
    { asDefault: [true, false] },
  ),
  nodegroups: listOrMap({}, "Named targets."),
  range_server: text("range:80", "Server for range targets.", kept),
  ...syndicOptions,
};

const trust = {
  pending_keys_max: integer(
    20_000,
    "Most pending keys and keys that `autoreject_file` rejects, together. Keys of further minions are not written. These minions wait as if their keys were pending, and the log and `key -L` say so.",
    { ...ours, min: 1, max: 10_000_000, unit: "keys" },
  ),
  minion_event_tags: choice(
    "strict",
    ["strict", "salt"],
    "Which tags minions' events may not carry. `strict`: tags that the master itself fires, unless the tag is about that minion. `salt`: Salt's shorter list, with which one minion can show its own text as another's result; the master warns at its start.",
    ours,
  ),
  open_mode: boolean(false, "Accept any key of any minion. Only `True` itself turns it on."),
  auto_accept: boolean(false, "Accept every new key. Only `True` itself turns it on."),
  autosign_file: optional(text("", "Ids, globs or patterns, one a line, whose keys are accepted.", path)),
  autoreject_file: optional(text("", "Ids, globs or patterns, one a line, whose keys are rejected.", path)),
  autosign_grains_dir: optional(
    text("", "Directory with a file per grain. A minion whose grain has a value in its file is accepted.", path),
  ),
  autosign_timeout: integer(120, "How long a file in `minions_autosign` is valid.", {
    min: 0,
    max: 5_256_000,
    unit: "minutes",
  }),
  permissive_pki_access: boolean(false, "Allow the group to write the autosign files."),
  auth_mode: integer(1, "Salt's old variants of authentication; only 1 works in Salt itself.", {
    ...kept,
    min: 1,
    max: 4,
  }),
  auth_events: boolean(true, "Fire `salt/auth` for each authentication."),
  allow_minion_key_revoke: boolean(true, "A minion may delete its own key (`revoke_auth`)."),
  keysize: integer(2_048, "Size of a new master key.", { min: 1_024, max: 16_384, unit: "bits" }),
  key_pass: optional(text("", "Passphrase of the master's private key.", { isSecret: true })),
  signing_key_pass: optional(text("", "Passphrase of the signing key.", { isSecret: true })),
  hash_type: choice(
    "sha256",
    ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"],
    "Hash of fingerprints and of the names of job directories.",
  ),
  publish_session: integer(day, "Age at which the key that seals publications is replaced.", {
    min: 60,
    max: timerSecondsMax,
    unit: "seconds",
  }),
  rotate_aes_key: boolean(true, "Replace the key that seals publications when a minion's key is deleted or rejected."),
  rotation_grace: integer(3_600, "How long requests under the former key are still accepted.", { ...ours, ...seconds }),
  sign_pub_messages: boolean(true, "Sign each publication with the master's key."),
  publish_signing_algorithm: choice(
    "PKCS1v15-SHA1",
    ["PKCS1v15-SHA1", "PKCS1v15-SHA224"],
    "Signature algorithm of publications.",
  ),
  require_minion_sign_messages: boolean(false, "Refuse returns without a signature.", kept),
  drop_messages_signature_fail: boolean(false, "Drop returns whose signature does not verify.", kept),
  minimum_auth_version: integer(
    3,
    "Oldest request version that is answered: 0 for minions before 3004.1, 2 before 3006.12.",
    { min: 0, max: 3 },
  ),
  request_server_ttl: integer(0, "Age at which a version 3 request is refused; 0: never.", seconds),
  request_server_aes_session: integer(0, "Age at which a minion's session key is replaced; 0: as `publish_session`.", {
    ...kept,
    ...seconds,
  }),
  fips_mode: boolean(false, "Only algorithms that FIPS 140 allows.", kept),
  master_sign_pubkey: boolean(false, "Sign the master's public key in authentication replies."),
  master_sign_key_name: text("master_sign", "Name of the key pair for `master_sign_pubkey`."),
  master_use_pubkey_signature: boolean(false, "Take the signature from a file instead of signing."),
  master_pubkey_signature: text(
    "master_pubkey_signature",
    "Name of the file with the signature of the master's public key.",
  ),
  publisher_acl: map(
    {},
    "Which users of this machine, by name, glob or regular expression, may run which functions: docs/external-auth.md. Each user gets a key file.",
  ),
  publisher_acl_blacklist: map({}, "`users` and `modules` (functions) that are always refused, for every user."),
  sudo_acl: boolean(false, "`publisher_acl` counts for users of sudo, too."),
  client_acl_verify: boolean(true, "Only users that this machine knows get a key by `publisher_acl`."),
  external_auth: map({}, "Users that an eauth system knows, and what they may run: docs/external-auth.md."),
  token_expire: integer(43_200, "How long a token of an `external_auth` user is valid.", seconds),
  token_expire_user_override: any(
    false,
    "Which users may choose how long their token is valid: True allows all, a map lists users by eauth system.",
  ),
  keep_acl_in_token: boolean(
    false,
    "A token keeps the permissions that its user had when it was made. Always so where `external_auth` has `rest`.",
  ),
  permissive_acl: boolean(false, "As in Salt, permissions of `*` in `external_auth` then have no effect."),
};

const metrics = {
  metrics_interface: text(
    "127.0.0.1",
    "Address of the Prometheus endpoint. It has no password: every client that reaches the address can read it, so keep it on loopback.",
    ours,
  ),
  metrics_port: integer(0, "Port of the Prometheus endpoint; 0: none. `saltworks top` works without it.", {
    ...ours,
    min: 0,
    max: 65_535,
    unit: "port",
  }),
};

/** By topic, in the order of docs/config.md. */
export const masterOptionGroups = {
  Sockets: sockets,
  Places: places,
  "Load and limits": load,
  Jobs: jobOptions,
  Minions: minions,
  Trust: trust,
  Content: contentOptions,
  "Git repositories": gitOptions,
  "Site's own Python": sitePythonOptions,
  "HTTP API": apiOptions,
  Cluster: clusterOptions,
  Metrics: metrics,
} as const;

export const masterOptions = {
  ...sockets,
  ...places,
  ...load,
  ...jobOptions,
  ...minions,
  ...trust,
  ...contentOptions,
  ...gitOptions,
  ...sitePythonOptions,
  ...apiOptions,
  ...clusterOptions,
  ...metrics,
};
