/** One case or more for each form of permissions: what a user asks, whether it may, and whether it may on a real Salt master. */
import type { Encodable } from "../../../src/wire/values.ts";

type Grant = string | number | { readonly [name: string]: unknown };
/** `{trace}` in arguments becomes a command that leaves a trace. */
export type Asked =
  | {
      readonly cmd: "publish";
      readonly tgt: Encodable;
      readonly kind?: string;
      readonly fun?: Encodable;
      readonly arg?: Encodable[];
    }
  | { readonly cmd: "runner"; readonly fun: string; readonly arg?: Encodable[]; readonly kwarg?: Encodable }
  | { readonly cmd: "wheel"; readonly fun: string; readonly fields?: { readonly [name: string]: Encodable } };
/**
 * `grants`: of an eauth user of the case's own; `local`: a user of the machine instead; `named`: the eauth user's name. `salts`: on Salt's master, if
 * that differs; "any": it is not asked, because it makes key files only for plain names.
 */
export type Case = {
  readonly what: string;
  readonly asked: Asked;
  readonly permitted: boolean;
  readonly grants?: readonly Grant[];
  readonly local?: string;
  readonly named?: string;
  readonly proof?: { readonly [name: string]: Encodable };
  readonly salts?: boolean | "any";
};

const publish = (tgt: Encodable, kind = "glob", fun: Encodable = "cmd.run", arg: Encodable[] = ["{trace}"]): Asked => ({
  cmd: "publish",
  ...{ tgt, kind, fun, arg },
});
const runner = (fun: string, arg: Encodable[] = [], kwarg: Encodable = {}): Asked => ({
  cmd: "runner",
  fun,
  arg,
  kwarg,
});
const wheel = (fun: string, fields: { readonly [name: string]: Encodable } = {}): Asked => ({
  cmd: "wheel",
  fun,
  fields,
});
const may = (what: string, grants: readonly Grant[], asked: Asked): Case => ({ what, grants, asked, permitted: true });
const mayNot = (what: string, grants: readonly Grant[], asked: Asked): Case => ({
  what,
  grants,
  asked,
  permitted: false,
});
const named = (fields: { readonly [name: string]: Encodable }): Encodable => ({ __kwarg__: true, ...fields });

const functions: readonly Case[] = [
  may("a pattern", ["cmd.*"], publish("*")),
  may("a pattern of the start", ["cmd.ru"], publish("*")),
  mayNot("a pattern that matches only further on", ["md.run"], publish("*")),
  mayNot("nothing", [], publish("*")),
  mayNot("another function", ["test.ping", "cmd.shell"], publish("*")),
  mayNot("a number", [5], publish("*")),
  {
    ...mayNot("one function of two", ["test.ping"], publish("*", "glob", ["test.ping", "cmd.run"], [[], ["{trace}"]])),
    salts: true,
  },
  may("both functions", ["test.ping", "cmd.run"], publish("*", "glob", ["test.ping", "cmd.run"], [[], ["{trace}"]])),
  {
    ...mayNot("a name with a comma", ["test.ping"], publish("*", "glob", "test.ping,cmd.run", [[], ["{trace}"]])),
    salts: true,
  },
  mayNot("a module of the blacklist", [".*"], publish("*", "glob", "cmd.exec_code_all", ["sh", "{trace}"])),
];

const targets: readonly Case[] = [
  may("a glob", [{ "web*": ["cmd.run"] }], publish("web1")),
  mayNot("more than a glob", [{ "web*": ["cmd.run"] }], publish("*")),
  mayNot("a list with one minion too many", [{ "web*": ["cmd.run"] }], publish(["web1", "db1"], "list")),
  may("another kind of target for the same minion", [{ "web*": ["cmd.run"] }], publish("w.b1", "pcre")),
  may("a compound target", [{ "G@role:web and not db1": ["cmd.run"] }], publish("web1")),
  mayNot("a minion beyond a compound target", [{ "G@role:web and not db1": ["cmd.run"] }], publish("db1")),
  may("a list", [{ "L@web1,db1": ["cmd.run"] }], publish("*")),
  may("a second entry", [{ db1: ["test.ping"] }, { web1: "cmd.run" }], publish("web1")),
  mayNot("two keys in one entry", [{ web1: ["cmd.run"], db1: ["cmd.run"] }], publish("web1")),
  mayNot(
    "two entries that only together cover the target",
    [{ web1: ["cmd.run"] }, { db1: ["cmd.run"] }],
    publish("*"),
  ),
  mayNot("an empty entry", [{ web1: [] }], publish("web1")),
  {
    ...mayNot(
      "another minion by find_job",
      [{ web1: ["test.ping"] }],
      publish("db1", "glob", "saltutil.find_job", ["1"]),
    ),
    salts: true,
  },
];

const withArguments = (limits: unknown): readonly Grant[] => [{ "*": [{ "cmd.run": limits }] }];
const inTmp = named({ cwd: "/tmp" });
const limits: readonly Case[] = [
  may("an argument", withArguments({ args: ["echo \\w+ .*"] }), publish("*")),
  mayNot("another argument", withArguments({ args: ["true$"] }), publish("*")),
  may("any argument", withArguments({ args: [null] }), publish("*")),
  mayNot("an argument that is missing", withArguments({ args: [null, "x"] }), publish("*")),
  may(
    "a named argument",
    withArguments({ kwargs: { cwd: "/tmp" } }),
    publish("*", "glob", "cmd.run", ["{trace}", inTmp]),
  ),
  mayNot("a named argument that is missing", withArguments({ kwargs: { cwd: "/tmp" } }), publish("*")),
  mayNot(
    "another value",
    withArguments({ kwargs: { cwd: "/tmp" } }),
    publish("*", "glob", "cmd.run", ["{trace}", named({ cwd: "/" })]),
  ),
  mayNot(
    "a text instead",
    withArguments({ kwargs: { cwd: "/tmp" } }),
    publish("*", "glob", "cmd.run", ["{trace}", "cwd=/tmp"]),
  ),
  mayNot(
    "a named argument instead",
    withArguments({ args: ["echo"] }),
    publish("*", "glob", "cmd.run", [named({ cmd: "{trace}" })]),
  ),
  may("one of several limits", withArguments([{ args: ["no"] }, { args: ["echo"] }]), publish("*")),
  mayNot("neither of several limits", withArguments([{ args: ["no"] }, { kwargs: { cwd: "/" } }]), publish("*")),
];

const runners: readonly Case[] = [
  may("every runner", ["@runner"], runner("test.arg")),
  may("every runner, in the plural", ["@runners"], runner("test.arg")),
  mayNot("wheel functions", ["@wheel", ".*"], runner("test.arg")),
  may("a module", ["@jobs"], runner("jobs.list_jobs")),
  mayNot("another module", ["@jobs"], runner("test.arg")),
  may("some runners", [{ "@runner": ["test.*"] }], runner("test.arg")),
  mayNot("other runners", [{ "@runner": ["test.*"] }], runner("jobs.list_jobs")),
  may("a function of a module", [{ "@jobs": ["list_j"] }], runner("jobs.list_jobs")),
  mayNot("another function of a module", [{ "@jobs": ["active"] }], runner("jobs.list_jobs")),
  may("an argument", [{ "@runner": [{ "test.arg": { args: ["a"] } }] }], runner("test.arg", ["a"])),
  mayNot("another argument", [{ "@runner": [{ "test.arg": { args: ["a"] } }] }], runner("test.arg", ["b"])),
  may("a named argument", [{ "@test": [{ arg: { kwargs: { k: "v" } } }] }], runner("test.arg", [], { k: "v" })),
  mayNot("another value", [{ "@test": [{ arg: { kwargs: { k: "v" } } }] }], runner("test.arg", [], { k: "w" })),
  mayNot("a target", [{ "*": ["test.*"] }], runner("test.arg")),
  mayNot("no function", ["@runner"], runner("test")),
];

const wheels: readonly Case[] = [
  may("every wheel function", ["@wheel"], wheel("key.list_all")),
  may("every wheel function, in the plural", ["@wheels"], wheel("key.list_all")),
  mayNot("runners", ["@runner", ".*"], wheel("key.delete", { match: "*" })),
  may("a module", ["@key"], wheel("key.list_all")),
  may("some functions", [{ "@wheel": ["key.list"] }], wheel("key.list_all")),
  mayNot("other functions", [{ "@wheel": ["key.list"] }], wheel("key.delete", { match: "*" })),
  mayNot("another function of a module", [{ "@key": ["list_all"] }], wheel("key.delete", { match: "*" })),
];

const users: readonly Case[] = [
  { what: "a user of '*'", named: "stranger", asked: publish("web1"), permitted: true },
  { what: "more than '*'", named: "stranger", asked: publish("db1"), permitted: false },
  { what: "'*' as a name", named: "*", asked: publish("db1"), permitted: false, salts: true },
  { what: "a setting as a name", named: "^filename", asked: publish("db1"), permitted: false, salts: "any" },
  {
    what: "a user of the blacklist",
    named: "mallory",
    grants: ["cmd.run"],
    asked: publish("*"),
    permitted: false,
    salts: true,
  },
  { ...mayNot("a wrong password", ["cmd.run"], publish("*")), proof: { password: "wrong" } },
  { ...mayNot("a wrong password, for a runner", ["@runner"], runner("test.arg")), proof: { password: "wrong" } },
  { ...mayNot("another eauth system", ["cmd.run"], publish("*")), proof: { eauth: "sharedsecret" } },
  { ...mayNot("a made-up token", ["cmd.run"], publish("*")), proof: { token: "ab".repeat(32) } },
  {
    ...mayNot("a made-up token, for a wheel function", ["@wheel"], wheel("key.delete", { match: "*" })),
    proof: { token: "ab".repeat(32) },
  },
  { what: "a local user", local: "daemon", asked: publish("*"), permitted: true },
  { what: "a local user by a glob", local: "games", asked: publish("web1"), permitted: true, salts: "any" },
  { what: "more than a local user's target", local: "games", asked: publish("*"), permitted: false, salts: "any" },
  { what: "a local user by a pattern", local: "bin", asked: runner("test.arg"), permitted: true, salts: "any" },
  {
    what: "a job of a local user without grants of jobs",
    local: "bin",
    asked: publish("*"),
    permitted: false,
    salts: "any",
  },
  {
    what: "a runner of a local user without grants of runners",
    local: "daemon",
    asked: runner("test.arg"),
    permitted: false,
    salts: true,
  },
  { what: "a local user of the blacklist", local: "nobody", asked: publish("*"), permitted: false },
];

export const cases: readonly Case[] = [...functions, ...targets, ...limits, ...runners, ...wheels, ...users];
export const nameOf = (index: number): string => cases[index]?.named ?? `user${index}`;

/** The options of both masters. `users`: the file of users; each user has one password. */
export function grammarOptions(users: string) {
  const own = cases.flatMap(({ grants }, index) => (grants === undefined ? [] : [[nameOf(index), grants]]));
  return {
    publisher_acl: { daemon: ["cmd.run"], "game*": [{ web1: ["cmd.run"] }], "b.n": ["@runner"], nobody: ["cmd.run"] },
    publisher_acl_blacklist: { users: ["nobody", "mallory"], modules: ["cmd\\.exec_.*"] },
    external_auth: { file: { "^filename": users, "*": [{ web1: ["cmd.run"] }], ...Object.fromEntries(own) } },
  };
}
