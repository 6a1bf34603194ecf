import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ownTitle } from "../../../src/cli/options/general-options.ts";
import { LineReader } from "../../../src/cli/options/line-reader.ts";
import { type CommandName, commands, parseCommandLine } from "../../../src/cli/options/parse.ts";
import { repositoryRoot } from "../../root.ts";

type Outcome = { given?: Record<string, unknown>; words?: string[]; error?: string; shown?: true };
type Golden = {
  options: Record<CommandName, [title: string, names: string[][]][]>;
  cases: [name: CommandName, argv: string[], outcome: Outcome][];
};
const golden: Golden = JSON.parse(readFileSync(join(repositoryRoot, "test/golden/command_lines.json"), "utf8"));
const context = { version: "1.2.3", versionsReport: () => "report\n", readStdin: () => [] };
/** Options of commands that Salt has, too; other commands are this program's own. */
const names = (Object.keys(commands) as CommandName[]).filter(
  (name) => !commands[name].program.startsWith("saltworks "),
);

function outcomeOf(name: CommandName, argv: string[]): Outcome {
  const reader = new LineReader(commands[name], context);
  const answer = reader.read(argv);
  if (answer?.exitCode === 0) return { shown: true };
  if (answer) return { error: answer.stderr.split(": error: ")[1]?.trimEnd() ?? "" };
  return { given: Object.fromEntries(reader.values), words: reader.positionals };
}

function ownNames(name: CommandName): string[] {
  const own = commands[name].groups.filter((group) => group.isOwn === true);
  return own.flatMap((group) => Object.values(group.options).flatMap((option) => option.names));
}

describe("the option tables", () => {
  for (const name of names) {
    it(`offer or refuse by name every option of Salt's ${commands[name].program}, and no other but our own`, () => {
      const offered = commands[name].groups.flatMap((group) =>
        Object.values(group.options).map((option) => option.names),
      );
      const known = [...offered, ...commands[name].unavailable].map((option) => option.join("/"));
      const salts = golden.options[name].flatMap(([, options]) => options.map((option) => option.join("/")));
      assert.deepEqual(
        known.filter((option) => !salts.includes(option)).flatMap((option) => option.split("/")),
        ownNames(name),
      );
      assert.deepEqual(
        salts.filter((option) => !known.includes(option)),
        [],
      );
      assert.equal(new Set(known.flatMap((option) => option.split("/"))).size, known.join("/").split("/").length);
    });
    it(`keep the groups and the order of Salt's ${commands[name].program}`, () => {
      const order = golden.options[name].flatMap(([title, options]) =>
        options.map((option) => [title, option.join("/")]),
      );
      const ours = commands[name].groups.flatMap((group) =>
        Object.values(group.options).map((option) => [group.title, option.names.join("/")]),
      );
      const shared = ours.filter(([title]) => title !== ownTitle);
      const theirs = order.filter(([, option]) => shared.some(([, other]) => other === option));
      assert.deepEqual(shared, theirs);
    });
  }
});

describe("parseCommandLine", () => {
  it("takes every recorded command line apart as Salt does, or names the option that it lacks", () => {
    const lacking = / is not available in this version(?:$|: )/;
    let count = 0;
    for (const [name, argv, expected] of golden.cases) {
      const told = outcomeOf(name, argv);
      // A suggestion is ours, on a separate line.
      const got = told.error === undefined ? told : { ...told, error: told.error.replace(/\nDid you mean \S+\?$/, "") };
      // An option that Salt lacks may be one of ours.
      if (ownNames(name).some((own) => expected.error === `no such option: ${own}`)) continue;
      if (got.error !== undefined && lacking.test(got.error)) continue;
      // Options are compared as a set: their order may differ from Salt's.
      assert.deepEqual(got, expected, `${name} ${argv.join(" ")}`);
      count += 1;
    }
    assert.ok(count > golden.cases.length * 0.9);
  });
  it("gives flags as booleans and what was not given as undefined", () => {
    const line = parseCommandLine("salt", ["-v", "--out=json", "es1", "test.ping", "-t", "3"], context);
    assert.ok(line.ok);
    assert.equal(line.options.isVerbose, true);
    assert.equal(line.options.isStatic, false);
    assert.equal(line.options.output, "json");
    assert.equal(line.options.timeoutSeconds, 3);
    assert.equal(line.options.outputIndent, undefined);
    assert.deepEqual(line.positionals, ["es1", "test.ping"]);
  });
  it("refuses by name what it lacks, however it is written", () => {
    for (const argv of [["--enable-profiling"], ["--enable"]]) {
      const line = parseCommandLine("run", argv, context);
      assert.ok(!line.ok);
      assert.equal(line.exitCode, 64);
      assert.match(line.stderr, /error: option --enable-profiling is not available in this version\n$/);
    }
  });
  it("leaves what the master's configuration decides to it where keys are managed through a master", () => {
    const line = parseCommandLine("key", ["--auth=file", "-d", "web1", "--rotate-aes-key=False"], context);
    assert.ok(!line.ok);
    assert.match(line.stderr, /error: option --rotate-aes-key: with --auth the master's configuration decides\n$/);
  });
  it("takes the login of an eauth system by all its names", () => {
    for (const argv of [["-a", "pam"], ["--auth=pam"], ["--ext", "pam"], ["-vapam"]]) {
      const line = parseCommandLine("salt", [...argv, "-T", "--username=ann", "*", "f.g"], context);
      assert.ok(line.ok);
      assert.deepEqual([line.options.eauth, line.options.isTokenMade, line.options.username], ["pam", true, "ann"]);
    }
  });
  it("takes no beginning of one of Salt's options for one of our own", () => {
    const line = parseCommandLine("salt", ["--batch-", "2", "*", "f.g"], context);
    assert.ok(!line.ok);
    const salts = "--batch-safe-limit, --batch-safe-size, --batch-size, --batch-wait";
    assert.ok(line.stderr.includes(`ambiguous option: --batch- (${salts}?)`), line.stderr);
    const own = parseCommandLine("salt", ["--gather", "2", "*", "f.g"], context);
    assert.ok(own.ok && own.options.gatherJobTimeoutSeconds === 2);
    assert.ok(!own.options.isDocAsked);
  });
  it("takes a target alone for what is documented, and no more than one function", () => {
    assert.ok(parseCommandLine("salt", ["-d"], context).ok);
    assert.ok(parseCommandLine("salt", ["-d", "es1", "sys.doc", "test.ping"], context).ok);
    const line = parseCommandLine("salt", ["-d", "es1", "test.ping", "test.echo"], context);
    assert.ok(!line.ok && line.exitCode === 64);
    assert.ok(line.stderr.endsWith("salt: error: You can only get documentation for one method at one time.\n"));
  });
  it("chooses no negative number of minions", () => {
    const line = parseCommandLine("salt", ["--subset=-1", "*", "test.ping"], context);
    assert.ok(!line.ok && line.exitCode === 64);
    assert.match(line.stderr, /--subset: -1 minions cannot be chosen/);
  });
  it("takes everything behind -- for words", () => {
    const line = parseCommandLine("salt", ["es1", "-v", "test.arg", "--", "--out=json", "-5", "--"], context);
    assert.ok(line.ok);
    assert.deepEqual(line.positionals, ["es1", "test.arg", "--out=json", "-5", "--"]);
  });
  it("reads more options and words from standard input when asked to, and only then", () => {
    const stdin = { ...context, readStdin: () => ["test.arg", "--show-jid", "two words", "-t", "9"] };
    const line = parseCommandLine("salt", ["es1", "--args-stdin"], stdin);
    assert.ok(line.ok);
    assert.deepEqual(line.positionals, ["es1", "test.arg", "two words"]);
    assert.equal(line.options.isJidShown, true);
    assert.equal(line.options.timeoutSeconds, 9);
    const refuses = { ...context, readStdin: (): string[] => assert.fail("read without being asked") };
    assert.ok(parseCommandLine("salt", ["es1", "test.ping"], refuses).ok);
  });
  it("answers two kinds of target with both names", () => {
    const line = parseCommandLine("salt", ["-L", "-E", "es1", "test.ping"], context);
    const error = "salt: error: The options --pcre/--list are mutually exclusive. Please only choose one of them\n";
    assert.ok(!line.ok && line.stderr.endsWith(error) && line.exitCode === 64);
  });
  it("shows help and exits with 42 where target or function are missing", () => {
    const none = parseCommandLine("salt", [], context);
    assert.ok(!none.ok);
    assert.deepEqual([none.stderr, none.exitCode], ["\nCannot execute command without defining a target.\n\n", 42]);
    const target = parseCommandLine("salt", ["es1"], context);
    assert.ok(!target.ok);
    assert.deepEqual([target.stderr, target.exitCode], ["\nIncomplete options passed.\n\n", 42]);
    for (const line of [none, target])
      assert.ok(line.stdout.startsWith("Usage: salt [options] '<target>' <function> [arguments]\n"));
  });
  it("refuses a kind of keys that there is not", () => {
    const line = parseCommandLine("key", ["-l", "bogus"], context);
    assert.ok(!line.ok);
    assert.equal(
      line.stderr,
      "Usage: salt-key [options]\n\nsalt-key: error: 'bogus' is not a valid argument to '--list'\n",
    );
    assert.equal(line.exitCode, 64);
    for (const kind of ["un", "pre", "unaccepted", "acc", "rej", "den", "all"]) {
      assert.ok(parseCommandLine("key", ["-l", kind], context).ok);
    }
  });
  it("wants a function, --grains or --doc of call", () => {
    const line = parseCommandLine("call", [], context);
    assert.ok(!line.ok);
    assert.ok(line.stdout.startsWith("Usage: salt-call"));
    assert.ok(line.stderr.endsWith("salt-call: error: Requires function, --grains or --doc\n"));
    assert.equal(line.exitCode, 64);
    assert.ok(parseCommandLine("call", ["-g"], context).ok);
    assert.ok(!parseCommandLine("call", ["-g", "test.ping"], context).ok);
    assert.ok(!parseCommandLine("call", ["-d", "test.ping", "test.echo"], context).ok);
  });
  it("answers --version and --help before anything else that is wrong", () => {
    const version = parseCommandLine("salt", ["--version", "--nosuch"], context);
    assert.deepEqual(version, { ok: false, stdout: "salt 1.2.3 (Saltworks)\n", stderr: "", exitCode: 0 });
    const help = parseCommandLine("master", ["-h", "--nosuch"], context);
    assert.ok(!help.ok && help.exitCode === 0 && help.stdout.startsWith("Usage: salt-master [options]\n"));
  });
});
