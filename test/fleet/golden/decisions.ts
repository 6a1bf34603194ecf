/** Differences from Salt's recorded output: by decision (also in docs/compatibility.md), or because a part is not built yet. */
import { programVersion } from "../../../src/cli/start/version.ts";
import { loadReturners, returnerDocs } from "../../../src/minion/returners/registry.ts";
import { type Decisions, type Deviation, readTopic } from "./replay.ts";
import { variations } from "./variations.ts";

const jid = "20261120155555511892";

/** In Salt, an earlier stored job of several functions made every search by function fail. */
const multiFunctionSearch = "a search by function goes past jobs of several functions";
/** Jobs in the history of the recording only. */
const recordedHistory = "the fleet has no older history";
const byContact = "who is present is known by contact, not guessed from addresses";
const shellDefault = "commands go through the shell by default, as in Salt's releases";
const failed = { rc: 1, stderr: "ERROR: Minions returned with non-zero exit code\n" };
const quickly = "without a master it is said at once, and in one line";
const noContact = "The salt master could not be contacted. Is master running?\n";
const ownVersion = "says which program it is";
const refusedModules = "modules in Python are refused by name, instead of looking as if they were there";
const notFetched =
  "    ERROR: Modules in Python cannot run on this minion and were not fetched: _modules/check_mk.py\n";
const scriptArguments = "a script gets its arguments as words, as in Salt's releases";
const doubtful = "a minion whose grains are not known is expected, whether or not its mine is";
const readableRefusal = "a refusal is one line, not a traceback";

function shownJob(name: string, target: string, kind: string): string {
  const lines = [
    `${jid}:`,
    "    ----------",
    "    Arguments:",
    `        - ${name}`,
    "        |_",
    "          ----------",
  ];
  const keyword = ["          __kwarg__:", "              True", "          name:", "              x"];
  const rest = ["    Function:", "        state.single", "    StartTime:", "        2026, Nov 20 15:55:55.511892"];
  const end = [
    "    Target:",
    `        ${target}`,
    "    Target-type:",
    `        ${kind}`,
    "    User:",
    "        root",
    "",
  ];
  return [...lines, ...keyword, ...rest, ...end].join("\n");
}
const stateJobs = shownJob("test.nop", "G@role:web", "compound") + shownJob("test.succeed_with_changes", "es1", "glob");

const markedJob = `${jid}:
    ----------
    Arguments:
        - 1
        |_
          ----------
          __kwarg__:
              True
          k:
              v
    Function:
        test.arg
    Metadata:
        ----------
        ticket:
            OPS-9
    StartTime:
        2026, Nov 20 15:55:54.958414
    Target:
        G@role:search and es1
    Target-type:
        compound
    User:
        root
`;

function result(id: string): string {
  return `        ${id}:
            ----------
            retcode:
                3
            return:
                no
            success:
                False
`;
}
const lastCommand = `${jid}:
    ----------
    Arguments:
        - echo no; exit 3
    Function:
        cmd.run
    Minions:
        - es1
        - es2
    Result:
        ----------
${result("es1")}${result("es2")}    StartTime:
        2026, Nov 20 15:55:54.331522
    Target:
        es*
    Target-type:
        glob
    User:
        root
`;

const ids = ["10.40.0.9", "db1.example.com", "es1", "es2", "web1.example.com", "web2.example.com"];
const everybody = ids.map((id) => `- ${id}\n`).join("");

function inBatch(id: string): string {
  return `${id}:\n    True\njid:\n    ${jid}\nretcode:\n    0\n`;
}

/** sqlite3 is there from Node 22 on. */
function returnerNames(): string[] {
  const docs = returnerDocs(loadReturners({ disable_returners: [] }));
  return Array.from(docs.keys(), (name) => name.replace(/\.returner$/, "")).sort();
}

const listOf = (names: readonly string[]) => names.map((name) => `    - ${name}\n`).join("");

function same(why: string, expected: Deviation["expected"], ...keys: readonly string[]): [string, Deviation][] {
  return keys.map((key) => [key, { why, expected }]);
}

const deviations: { readonly [key: string]: Deviation } = Object.fromEntries([
  ...same(
    shellDefault,
    { stdout: "10.40.0.9:\n    HOMEDIR\n    two\nes1:\n    HOMEDIR\n    two\n" },
    "cmd_shell_default:default_shell",
  ),
  ...same(
    "a runner function that is not there ends with 1",
    { rc: 1 },
    ...["tagify", "unknown_fun", "unknown_fun2"].map((name) => `manage_runner:${name}`),
  ),
  ...same("lists the modules that there are", { stdout: "es1:\n    - test\n" }, "functions:sys_list_modules"),
  ...same(
    "lists the functions that there are",
    changed("functions", "sys_list_functions_glob", (text) => text.replace("    - mine.get_docker\n", "")),
    "functions:sys_list_functions_glob",
  ),
  ...same(
    "lists the returners that there are",
    { stdout: `es1:\n${listOf(returnerNames())}` },
    "functions:sys_list_returners",
  ),
  ...same(
    "returners only take returns",
    { stdout: `es1:\n${listOf(["mysql.returner"])}` },
    "functions:sys_list_returner_functions",
  ),
  ...same(
    "says why a return did not reach a returner",
    { stderr: `[ERROR   ] The return failed for job ${jid}: nosuch: 'nosuch.returner' is not available.\n` },
    "salt_call:return_nosuch",
  ),
  ...same(doubtful, { stdout: "- web1.example.com\n- es2\n" }, "greedy:only_mine_preview"),
  ...same(doubtful, { stdout: "- db1.example.com\n- es1\n- es2\n" }, "greedy:only_mine_preview2"),
  ...same(ownVersion, { stdout: `salt ${programVersion()} (Saltworks)\n` }, "cli_options:version"),
  ...same(
    "batches and --static honour --delimiter",
    { stdout: `\nExecuting run on ['es1', 'es2']\n\n${inBatch("es1")}${inBatch("es2")}`, rc: 0 },
    "cli_options:delimiter_batch",
  ),
  ...same(
    refusedModules,
    { ...failed, stdout: ids.map((id) => `${id}:\n${notFetched}`).join("") },
    "test_module:sync_all",
  ),
  ...same(refusedModules, { ...failed, stdout: `es1:\n${notFetched}es2:\n${notFetched}` }, "functions:sync_modules"),
  ...same(
    scriptArguments,
    changed("functions", "cmd_script", (text) => text.replace("hello  from", "hello world from")),
    "functions:cmd_script",
  ),
  ...["functions:cmd_script_args", "cmd_shell_default:script_args"].flatMap((key) =>
    same(scriptArguments, { ...failed, ...changed(...topicAndName(key), asWords) }, key),
  ),
  ...["functions:cmd_script_retcode", "cmd_shell_default:script_args_retcode"].flatMap((key) =>
    same(scriptArguments, { ...failed, ...changed(...topicAndName(key), (text) => text.replace(/0\n$/, "4\n")) }, key),
  ),
  ...same(readableRefusal, { stderr: "", rc: 64 }, "batch:b_bad"),
  ...["0", "-1"].map((size, index): [string, Deviation] => [
    index === 0 ? "batch:b_zero" : "batch:b_neg",
    {
      why: "refused, instead of waiting for ever",
      expected: {
        stdout: `Invalid batch data sent: ${size}\nData must be in the form of %10, 10% or 3\n`,
        stderr: "A batch needs at least one minion at a time.\n",
        rc: 64,
      },
    },
  ]),
  ...same(
    "with --async a batch is begun and left",
    {
      stdout: `Executed command with job ID: ${jid}\n`,
      stderr: [
        "The batch goes on in the master. To follow it again, from its beginning, run the following command:",
        `\nsaltworks run -c ROOT/etc/salt jobs.follow ${jid}`,
        `\nTo stop it: saltworks run -c ROOT/etc/salt jobs.abort ${jid}\n`,
      ].join("\n"),
    },
    "batch:async_batch",
  ),
  ...same(multiFunctionSearch, { stdout: stateJobs }, "jobs_runner:list_jobs_fun", "jobs_runner:list_jobs_fun_list"),
  ...same(multiFunctionSearch, { stdout: "" }, "jobs_runner:list_jobs_none"),
  ...same(multiFunctionSearch, { stdout: "False\n" }, "jobs_runner:last_run_none"),
  ...same(multiFunctionSearch, { stdout: lastCommand }, "jobs_runner:last_run_fun"),
  ...same(recordedHistory, { stdout: markedJob }, "jobs_runner:list_jobs_meta"),
  ...same(recordedHistory, { stdout: "{}\n" }, "jobs_runner:list_jobs_time_json"),
  ...same(
    byContact,
    { stdout: everybody },
    ...["present", "joined", "allowed", "alived", "reaped", "list_state"].map((name) => `manage_runner:${name}`),
  ),
  ...same(
    "tracebacks are shown once",
    {
      stdout:
        "Exception occurred in runner salt.cmd: Traceback (most recent call last):\n    [traceback lines omitted]\n",
    },
    "manage_runner:ex_retcode",
  ),
  ...same(
    "tracebacks are shown once",
    {
      stderr:
        "[ERROR   ] An un-handled exception was caught by Salt's global exception handler:\nException: Test Exception\nTraceback (most recent call last):\n    [traceback lines omitted]\nException: Test Exception\n",
    },
    "salt_call:exception",
  ),
  ...same(
    "the master has no modules in Python",
    changed("manage_runner", "saltutil_sync", (text) => text.replace("    - modules.check_mk\n", "")),
    "manage_runner:saltutil_sync",
  ),
  ...same(
    "nobody had sent more to the mine",
    changed("manage_runner", "cache_mine", (text) =>
      text.replace(/^ {4}(?:check_mk\.agent|lo_ips|secret_os):\n(?:(?: {5,}| {4}-).*\n)*/gm, ""),
    ),
    "manage_runner:cache_mine",
  ),
  ...same(
    "nobody had sent more to the mine",
    changed("manage_runner", "cache_fetch", (text) =>
      text.replace(/^ {4}"(?:check_mk\.agent|lo_ips|secret_os)": (?:[{[]\n[\s\S]*?\n {4}[}\]]|".*"),?\n/gm, ""),
    ),
    "manage_runner:cache_fetch",
  ),
  ...same(
    shellDefault,
    {
      ...changed("timing", "cmdrun_mixed_durations", (text) => text.replace("test: extra argument '&&'", "edge9")),
      stderr: "",
      rc: 0,
    },
    "timing:cmdrun_mixed_durations",
  ),
  ...same(
    "debug lines are our own",
    {
      stderr: ["sent to 2 minions", "return from es1", "return from es2", "is over"]
        .map((text) => `[DEBUG   ] jid ${jid} ${text}\n`)
        .join(""),
    },
    "timing:debug_flow",
  ),
  ...same(
    "a batch goes on in the master, and says how to follow it",
    {
      stderr: [
        "\nExiting gracefully on Ctrl-c",
        `This job's jid is: ${jid}`,
        "The batch goes on in the master. To follow it again, from its beginning, run the following command:",
        `\nsaltworks run -c ROOT/etc/salt jobs.follow ${jid}`,
        `\nTo stop it: saltworks run -c ROOT/etc/salt jobs.abort ${jid}\n`,
      ].join("\n"),
    },
    "timing:ctrl_c_batch",
  ),
  ...same(
    "what an outputter is not made for is shown as nested, without a traceback",
    { ...changed("outputters", "out_nested", (text) => text), stderr: "", rc: 0 },
    ...["out_key", "out_overstatestage", "out_virt_query"].map((name) => `outputters:${name}`),
  ),
  ...same(quickly, { stdout: noContact, stderr: "" }, "master_down:salt_ping"),
  ...same(quickly, { stderr: noContact }, "master_down:salt_static"),
  ...same(
    quickly,
    { stdout: `Exception occurred in runner manage.up: ${noContact}`, stderr: "" },
    "master_down:salt_run_manage",
  ),
  ...same(
    "in words of our own",
    { stderr: "Unable to sign_in to master: the master did not answer the authentication\n" },
    "master_down:salt_call",
  ),
  ...same(
    "a source that is not there is named",
    { stderr: "[WARNING ] ROOT/nosuch does not exist, so it is not copied\n" },
    "salt_cp:missing_src",
  ),
  ...same(
    byContact,
    { stdout: "" },
    ...["not_present", "not_joined", "not_alived"].map((name) => `manage_runner:${name}`),
  ),
]);

/** A recorded text with a replacement. */
function changed(topic: string, name: string, change: (stdout: string) => string): Deviation["expected"] {
  const found = readTopic(topic).find((transcript) => transcript.name === name);
  return { stdout: change(found?.stdout ?? "") };
}

function topicAndName(key: string): [topic: string, name: string] {
  const [topic = "", name = ""] = key.split(":");
  return [topic, name];
}

/** A script called with `world 4`, which greets by its first argument and exits with its second. */
function asWords(text: string): string {
  return text.replace(/hello .*from/, "hello world from").replace('"retcode": 0', '"retcode": 4');
}

const states = "states";
const python = "modules in Python, which the minion cannot run";

function all(why: string, ...keys: readonly string[]): [string, string][] {
  return keys.map((key) => [key, why]);
}

const notYet: { readonly [key: string]: string } = Object.fromEntries([
  ...all(
    states,
    ...["jobs_runner:lookup_jid_state", "jobs_runner:lookup_jid_state_json", "batch:state", "test_module:render_batch"],
    "functions:sys_list_state_modules",
  ),
  ...all(python, "functions:custom_module", "functions:custom_module_doc"),
]);

export const decisions: Decisions = { deviations, notYet, variations };
