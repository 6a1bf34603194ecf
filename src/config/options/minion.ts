/**
 * Every option of the minion that this program knows, with Salt's names and defaults.
 * Source: salt.config of Salt 3007 (checked by test/config/defaults.test.ts against its recorded defaults); docs/config.md is generated.
 */

import { kept, logLevels, ours, path, port, seconds, timerSecondsMax } from "./details.ts";
import {
  any,
  boolean,
  choice,
  integer,
  list,
  map,
  number,
  numberChoice,
  optional,
  text,
  textOrList,
} from "./option.ts";

const milliseconds = { min: 0, max: 2_147_483_647, unit: "milliseconds" } as const;

const connection = {
  master: textOrList("salt", "The master: `host`, `host:port`, or a list of them."),
  master_port: integer(4506, "The master's request port. The master tells minions its publish port.", port),
  master_type: choice(
    "str",
    ["str", "failover", "func", "disable", "distributed"],
    "How to choose among several masters.",
  ),
  master_uri_format: choice("default", ["default", "ip_only"], "Whether `master` may contain a port.", kept),
  random_master: boolean(false, "Try a list of masters in random order."),
  master_alive_interval: integer(0, "How often to test the master's connection; 0: never.", { ...kept, ...seconds }),
  master_tries: integer(-1, "Rounds through the masters before giving up; -1: for ever.", { min: -1, max: 1_000_000 }),
  source_address: text("", "Local address of connections.", kept),
  source_interface_name: text("", "Local interface of connections.", kept),
  source_ret_port: integer(0, "Local port to the request port; 0: any.", {
    ...kept,
    min: 0,
    max: 65_535,
    unit: "port",
  }),
  source_publish_port: integer(0, "Local port to the publish port; 0: any.", {
    ...kept,
    min: 0,
    max: 65_535,
    unit: "port",
  }),
  ipv6: optional(boolean(false, "Use IPv6.")),
  retry_dns: number(30, "Wait after the master's name could not be resolved; 0: give up.", { ...kept, ...seconds }),
  retry_dns_count: optional(
    integer(0, "How often to try to resolve the master's name; unset: for ever.", { ...kept, min: 0, max: 1_000_000 }),
  ),
  transport: choice("zeromq", ["zeromq"], "Transport protocol. Only ZeroMQ here; Salt also has tcp and ws.", kept),
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
  recon_default: number(1_000, "First wait before reconnecting.", milliseconds),
  recon_max: number(10_000, "Longest wait before reconnecting.", milliseconds),
  recon_randomize: boolean(true, "Add a random time up to `recon_max` to the first wait."),
  zmq_filtering: boolean(false, "Subscribe only to this minion's topics."),
  zmq_monitor: boolean(true, "Log events of the ZeroMQ sockets.", kept),
  request_version: numberChoice(
    3,
    [3, 2, 0],
    "Version of requests. Older versions imitate old fleets, for tests.",
    ours,
  ),
  target_parser_release: choice(
    "",
    ["", "2014.1", "2014.7", "2015.5"],
    "Match targets as minions of this release did, to imitate old fleets in tests; empty: as present minions do.",
    ours,
  ),
  request_channel_timeout: integer(60, "Wait for a reply to one request.", { ...seconds, min: 1 }),
  request_channel_tries: integer(3, "Tries of one request.", { min: 1, max: 1_000 }),
};

const places = {
  root_dir: text("/", "Prefix of all the directories below."),
  pki_dir: text("/etc/salt/pki/minion", "The minion's keys and the pinned key of the master.", path),
  cachedir: text("/var/cache/salt/minion", "Directory of data that outlasts a restart.", path),
  sock_dir: text("/var/run/salt/minion", "Directory of the minion's event bus.", path),
  pidfile: text(
    "/var/run/salt-minion.pid",
    "File with the daemon's process id, written at start and removed at the end; empty: none.",
    path,
  ),
  extension_modules: text("/var/cache/salt/minion/extmods", "Directories of custom modules.", { ...path, ...kept }),
  log_file: text(
    "/var/log/salt/minion",
    "Log of the daemon: a file, or the system's log as `file:///dev/log`, `udp://HOST:PORT`, `tcp://HOST:PORT`, with a facility at the end such as `/LOG_DAEMON`.",
    path,
  ),
  log_level: choice("warning", logLevels, "Log level of the console."),
  log_level_logfile: optional(
    choice("warning", logLevels, "Log level of the log file; unset: the same as `log_level`."),
  ),
  user: text(
    "root",
    "The minion becomes this user if root starts it. The user owns its files. Not set: the user that starts it.",
  ),
  sudo_user: text("", "Run commands as this user through sudo.", kept),
  id: text("", "Name of this minion; empty: the cached name, else the fully qualified host name."),
  append_domain: text("", "Domain added to a computed id that doesn't end in it."),
  minion_id_caching: boolean(true, "Keep a computed id in the file `minion_id`."),
  minion_id_lowercase: boolean(false, "Lower-case a computed id."),
  minion_id_remove_domain: any(false, "True: cut any domain off a computed id; a text: that domain."),
  default_include: text(
    "minion.d/*.conf",
    "Pattern of further files, relative to this one. Their values replace those of this file.",
  ),
  include: textOrList([], "Further files or patterns, read last. Their values replace all others."),
  verify_env: boolean(true, "Create missing directories and set their modes.", kept),
};

const trust = {
  master_finger: text("", "Fingerprint that the master's key must have."),
  verify_master_pubkey_sign: boolean(false, "The master's key must come with a signature."),
  always_verify_signature: boolean(false, "Check that signature at every authentication."),
  master_sign_key_name: text("master_sign", "Name of the key file that verifies this signature."),
  open_mode: boolean(false, "Trust any master's key. Only `True` itself turns it on."),
  hash_type: choice("sha256", ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"], "Hash of fingerprints."),
  keysize: integer(2_048, "Size of a new minion key.", { min: 1_024, max: 16_384, unit: "bits" }),
  encryption_algorithm: choice("OAEP-SHA1", ["OAEP-SHA1", "OAEP-SHA224"], "How secrets are encrypted to this minion."),
  signing_algorithm: choice(
    "PKCS1v15-SHA1",
    ["PKCS1v15-SHA1", "PKCS1v15-SHA224"],
    "How signatures are made and checked.",
  ),
  minion_sign_messages: boolean(false, "Sign each return."),
  sign_pub_messages: boolean(false, "Drop publications without a good signature."),
  autosign_grains: list([], "Grains sent with the authentication, for the master's `autosign_grains_dir`."),
  permissive_pki_access: boolean(false, "Allow the group to read the keys.", kept),
  acceptance_wait_time: number(10, "Wait before asking again whether the key is accepted.", seconds),
  acceptance_wait_time_max: number(0, "Longest such wait; 0: always the same.", seconds),
  rejected_retry: boolean(false, "Go on when the key is rejected, instead of ending."),
  auth_timeout: integer(5, "Wait for a reply to an authentication.", { ...seconds, min: 1 }),
  auth_tries: integer(7, "Tries of one authentication.", { min: 1, max: 1_000_000 }),
  auth_safemode: boolean(false, "Go on when authentication fails by timeout, instead of ending."),
  random_reauth_delay: number(10, "Wait at random up to this before authenticating anew.", seconds),
  random_startup_delay: integer(0, "Wait at random up to this at start.", seconds),
};

const work = {
  multiprocessing: boolean(true, "A process per job. Off: one thread each.", kept),
  process_count_max: integer(-1, "Most jobs at once. Further jobs wait. -1: no limit.", {
    min: -1,
    max: 1_000_000,
    unit: "jobs",
  }),
  return_retry_timer: integer(5, "Shortest wait before a return is sent again.", seconds),
  return_retry_timer_max: integer(10, "Longest such wait.", seconds),
  return_retry_tries: integer(3, "Tries of a return.", { min: 1, max: 1_000_000 }),
  pub_ret: boolean(true, "Send returns to the master."),
  return: textOrList("", "Returners for every job."),
  cache_jobs: boolean(false, "Keep jobs on the minion, too."),
  cmd_safe: boolean(true, "Off: commands run in a shell unless asked otherwise."),
  loop_interval: number(1, "Resolution of the scheduler: no job runs more often.", {
    min: 0.01,
    max: timerSecondsMax,
    unit: "seconds",
  }),
  ping_interval: integer(0, "Time between signs of life to the master; 0: none.", {
    min: 0,
    max: 35_000,
    unit: "minutes",
  }),
  minion_jid_queue_hwm: integer(100, "Job ids remembered, so that none runs twice.", {
    min: 0,
    max: 1_000_000,
    unit: "jobs",
  }),
  max_event_size: integer(1_048_576, "Largest event on the minion's bus.", {
    min: 1_024,
    max: 67_108_864,
    unit: "bytes",
  }),
  enable_legacy_startup_events: boolean(true, "Also fire `minion_start`."),
  start_event_grains: list([], "Grains sent with the start event."),
  mine_enabled: boolean(true, "Send mine data."),
  mine_interval: integer(60, "Time between two updates of the mine.", { min: 1, max: 35_000, unit: "minutes" }),
  mine_return_job: boolean(false, "Store mine jobs in the job cache."),
  mine_functions: any({}, "Functions whose results the mine gets."),
  schedule: map(
    {},
    "Scheduled jobs by name. Changes by functions such as `schedule.add` are kept in `minion.d/_schedule.conf`.",
  ),
  beacons: any({}, "Beacons and their settings.", kept),
  startup_states: text("", "State run at start.", kept),
  sls_list: list([], "States to run at start, with `startup_states: sls`.", kept),
  disable_modules: list([], "Modules that are not loaded."),
  whitelist_modules: list([], "The only modules that are loaded."),
  disable_returners: list([], "Returners that are not loaded."),
  module_dirs: list([], "Directories of custom modules.", kept),
  returner_dirs: list([], "Directories of custom returners.", kept),
};

const facts = {
  grains: map({}, "Grains that override detected ones."),
  grains_cache: boolean(false, "Keep grains between runs.", kept),
  grains_refresh_every: integer(0, "How often grains are collected again; 0: never.", {
    min: 0,
    max: 35_000,
    unit: "minutes",
  }),
  grains_deep_merge: boolean(false, "Merge these grains into detected ones."),
  enable_fqdns_grains: boolean(false, "Look up all names of this host."),
  file_client: choice("remote", ["remote", "local"], "`local`: files and pillar from this machine, without a master."),
  file_roots: map({ base: ["/srv/salt", "/srv/spm/salt"] }, "Directories of files, with `file_client: local`."),
  pillar_roots: map(
    { base: ["/srv/pillar", "/srv/spm/pillar"] },
    "Directories of pillar, with `file_client: local`.",
    kept,
  ),
  renderer: text("jinja|yaml", "How state files are rendered: pipes of `jinja`, `yaml`, `yamlex` and `json`."),
  state_top: text("top.sls", "Name of the top file."),
  state_top_saltenv: optional(text("", "Only this environment's top file.")),
  top_file_merging_strategy: choice(
    "merge",
    ["merge", "same", "merge_all"],
    "How top files of several environments combine.",
  ),
  env_order: list([], "Order of environments when merging top files."),
  default_top: text("base", "Environment for `top_file_merging_strategy: same`."),
  state_auto_order: boolean(true, "Run states in the order in which they are written."),
  failhard: boolean(false, "Stop a state run at the first failure."),
  state_events: boolean(false, "Fire an event for each state."),
  backup_mode: text("", "What to do with replaced files."),
  saltenv: optional(text("", "Environment of state runs.")),
  pillarenv: optional(text("", "Environment of the pillar.")),
  output: text("", "Outputter of `call`; empty: `nested`, unless the result suggests another."),
};

/** By topic, in the order of docs/config.md. */
export const minionOptionGroups = {
  Connection: connection,
  Places: places,
  Trust: trust,
  Work: work,
  Facts: facts,
} as const;

export const minionOptions = { ...connection, ...places, ...trust, ...work, ...facts };
