import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { loadMasterConfig, type Overrides } from "../../../src/config/load.ts";
import { toJob } from "../../../src/master/operators/asked-job.ts";
import { Authorisation } from "../../../src/master/operators/authorisation.ts";
import { Tokens } from "../../../src/store/secrets/tokens.ts";
import { parseTarget } from "../../../src/target/parse.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import { Float, type Value, type ValueMap } from "../../../src/wire/values.ts";
import type { CredentialTask } from "../../../src/workers/credentials/contract/credential.ts";
import type { Caller } from "../../../src/workers/messages/deferred.ts";

const folder = mkdtempSync(join(tmpdir(), "sw-authorisation-"));
after(() => rmSync(folder, { recursive: true }));
let opened = 0;
const startMs = 1_800_000_000_500;

/** Ids by target, and a backend in which `right` is every user's password, and `ops` is ann's group. */
function open(overrides: Overrides) {
  opened += 1;
  const directory = join(folder, String(opened), "tokens");
  const clock = { nowMs: startMs };
  const targets: Readonly<Record<string, string[]>> = {
    ...{ "*": ["db1", "web1"], "web*": ["web1"], db1: ["db1"], web1: ["web1"] },
    ...{ new1: ["new1"], "G@role:web": ["web1"] },
  };
  const unknown = ["new1"];
  const authorisation = new Authorisation({
    config: loadMasterConfig(join(folder, "none"), { root_dir: folder, id: "m", ...overrides }),
    checks: {
      notEnabled: 0,
      check: async ({ username, password, eauth }: CredentialTask) =>
        password !== "right"
          ? undefined
          : {
              isAuthentic: true,
              groups: username === "ann" ? ["ops"] : [],
              ...(eauth === "rest" ? { grants: encode(["test.ping"], "bin") } : {}),
            },
    },
    tokens: new Tokens(directory, "sha256"),
    targets: {
      written: (target) => target,
      parse: ({ targetKind, target, delimiter }) => parseTarget(targetKind, target, delimiter),
      expected: async ({ target }, isGreedy = true) => {
        const matched = targets[String(target)] ?? [];
        const isOfGrains = String(target).startsWith("G@");
        return { minions: TextList.of(isOfGrains && isGreedy ? [...matched, ...unknown] : matched), missing: [] };
      },
    },
    ownerOf: (jid) => ({ "1": "ann", "2": "bob" })[jid],
    logger: { warn: () => undefined, error: () => undefined },
    nowMs: () => clock.nowMs,
  });
  return { authorisation, clock, directory };
}

/** The publisher's present grants for a waiting job. */
async function sourceOf(authorisation: Authorisation, caller: Caller) {
  return (await authorisation.identify(caller))?.source ?? assert.fail("no source");
}

function eauth(username: string, password = "right", backend = "file"): Caller {
  return { kind: "eauth", user: "root", credential: { eauth: backend, username, password } };
}

function jobOf(fun: Value, tgt: string, arg: Value[] = [], kind = "glob") {
  const load: ValueMap = new Map<Value, Value>([
    ["fun", fun],
    ["tgt", tgt],
    ["arg", arg],
    ["tgt_type", kind],
    ["user", "root"],
  ]);
  return toJob(load, "ann");
}

async function mayPublish(authorisation: Authorisation, caller: Caller, fun: string | string[], tgt: string) {
  const identity = await authorisation.identify(caller);
  return identity && (await authorisation.mayPublish(identity, caller.user, jobOf(fun, tgt)));
}

describe("a grant for minions of some grains", () => {
  it("covers minions that are known to have them, and no minion without data", async () => {
    const { authorisation } = open({ external_auth: { file: { ann: [{ "G@role:web": ["test.*"] }] } } });
    assert.equal(await mayPublish(authorisation, eauth("ann"), "test.ping", "web*"), true);
    assert.equal(await mayPublish(authorisation, eauth("ann"), "test.ping", "new1"), false);
    assert.equal(await mayPublish(authorisation, eauth("ann"), "test.ping", "G@role:web"), false);
  });
});

describe("a user with grants for some minions", () => {
  const { authorisation } = open({
    external_auth: {
      file: { ann: [{ "web*": ["test.*", { "cmd.run": { args: ["uptime$"], kwargs: { cwd: "/srv" } } }] }, "@wheel"] },
      auto: { "*": ["test.ping"] },
    },
  });
  const decide = async (fun: Value, tgt: string, arg: Value[] = [], kind = "glob") => {
    const identity = (await authorisation.identify(eauth("ann"))) ?? assert.fail();
    return authorisation.mayPublish(identity, "root", jobOf(fun, tgt, arg, kind));
  };

  it("asks find_job of those minions only, of jobs of its own, and by no pillar", async () => {
    assert.equal(await decide("saltutil.find_job", "web*", ["1"]), true);
    assert.equal(await decide("saltutil.find_job", "web*", ["3"]), true);
    assert.equal(await decide("saltutil.find_job", "web*", ["2"]), false);
    assert.equal(await decide("saltutil.find_job", "*", ["1"]), false);
    assert.equal(await decide("saltutil.find_job", "nobody", ["1"]), false);
    assert.equal(await decide("saltutil.find_job", "web*", ["1"], "pillar"), false);
    assert.equal(await decide("saltutil.find_job", "I@a:b", ["1"], "compound"), false);
    assert.equal(await decide(["saltutil.find_job", "cmd.run"], "web*", [["1"], ["id"]]), false);
  });

  it("is held to limits of arguments as minions read them", async () => {
    const named = (fields: Record<string, Value>) =>
      new Map<Value, Value>([["__kwarg__", true], ...Object.entries(fields)]);
    assert.equal(await decide("cmd.run", "web*", ["uptime", named({ cwd: "/srv" })]), true);
    assert.equal(await decide("cmd.run", "web*", ["uptime", "timeout=5", named({ cwd: "/srv" })]), true);
    // As in Salt, these two are refused.
    assert.equal(await decide("cmd.run", "web*", [named({ cwd: "/srv" }), "uptime"]), false);
    assert.equal(await decide("cmd.run", "web*", ["uptime", "cwd=/srv"]), false);
    assert.equal(await decide("cmd.run", "web*", ["uptime=1", named({ cwd: "/srv" })]), false);
    assert.equal(await decide("cmd.run", "web*", ["uptime", "cwd=/etc"]), false);
    assert.equal(await decide("cmd.run", "web*", ["uptime", named({ cwd: "/srv" }), "cwd=/etc"]), false);
    assert.equal(await decide("cmd.run", "web*", ["uptime", "cwd='/etc'", named({ cwd: "/etc" })]), false);
    assert.equal(await decide("cmd.run", "web*", [named({ cwd: "/srv" }), "cwd=/etc", "uptime"]), false);
    assert.equal(await decide("cmd.run", "web*", ["id", named({ cwd: "/srv" })]), false);
    // The mark is on a map that minions would take for a positional argument.
    assert.equal(
      await decide("cmd.run", "web*", [
        "uptime",
        new Map<Value, Value>([
          ["__kwarg__", 1],
          ["cwd", "/srv"],
        ]),
      ]),
      false,
    );
  });

  it("names functions by texts without commas, each of them granted", async () => {
    assert.equal(await decide("test.ping", "web*"), true);
    assert.equal(await decide(["test.ping", "test.version"], "web*", [[], []]), true);
    for (const fun of [
      "test.ping,cmd.run",
      ["test.ping,cmd.run"],
      [["test.ping", "cmd.run"]],
      [["test.ping"]],
      [],
      "",
      null,
      1,
    ])
      assert.equal(await decide(fun, "web*", [[]]), false, JSON.stringify(fun));
  });

  it("sees those minions", async () => {
    const identity = (await authorisation.identify(eauth("ann"))) ?? assert.fail();
    assert.deepEqual(await authorisation.grantedMinionsOf(identity), new Set(["web1"]));
    const everyone = (await authorisation.identify(eauth("bob", "right", "auto"))) ?? assert.fail();
    assert.equal(await authorisation.grantedMinionsOf(everyone), "everyone");
    const asRoot = { user: "root", grants: undefined };
    assert.equal(authorisation.askerOf(asRoot), undefined);
    const byRunners = { user: "eve", grants: ["@runner", { "web*": [] }, { "@jobs": ["list"] }] };
    assert.deepEqual(await authorisation.grantedMinionsOf(byRunners), new Set());
  });

  it("has only its own part of this program's own functions, with any grant", async () => {
    const identity = (await authorisation.identify(eauth("ann"))) ?? assert.fail();
    const of = (fun: string, who = identity) =>
      authorisation.mayCall(who, "wheel", { fun, args: [], kwargs: undefined });
    for (const name of ["returns", "batch", "job_end", "match_target"]) assert.equal(of(`saltworks.${name}`), "own");
    for (const name of ["retcodes", "peer_returns"]) assert.equal(of(`saltworks.${name}`), "denied");
    assert.equal(of("key.list_all"), "granted");
    const namesake = (await authorisation.identify(eauth("root", "right", "auto"))) ?? assert.fail();
    assert.equal(of("saltworks.returns", namesake), "denied", "root of another system is not this machine's root");
    assert.equal(of("saltworks.match_target", namesake), "own");
  });
});

describe("the master's own user", () => {
  it("may do everything but what is blacklisted, and so may users of sudo", async () => {
    const { authorisation } = open({ publisher_acl_blacklist: { users: ["sudo_bob"], modules: ["cmd.*"] } });
    for (const [user, fun, expected] of [
      ["root", "test.ping", true],
      ["root", "cmd.run", false],
      ["sudo_ann", "test.ping", true],
      ["sudo_bob", "test.ping", false],
    ] as const)
      assert.equal(await mayPublish(authorisation, { kind: "key", user, isMaster: true }, fun, "*"), expected, user);
  });

  it("is bound by sudo_acl to what publisher_acl grants the user of sudo", async () => {
    const { authorisation } = open({ sudo_acl: true, publisher_acl: { ann: ["test.*"] } });
    const caller = { kind: "key", user: "sudo_ann", isMaster: true } as const;
    assert.equal(await mayPublish(authorisation, caller, "test.ping", "*"), true);
    assert.equal(await mayPublish(authorisation, caller, "cmd.run", "*"), false);
    assert.equal(await authorisation.identify({ ...caller, user: "sudo_eve" }), undefined);
    assert.equal(await mayPublish(authorisation, { ...caller, user: "root" }, "cmd.run", "*"), true);
  });
});

describe("a user of publisher_acl", () => {
  it("may publish what is granted, call no runner, and follow its own jobs", async () => {
    const { authorisation } = open({ publisher_acl: { "an+": [{ "web*": ["test.*"] }] } });
    const caller = { kind: "key", user: "ann", isMaster: false } as const;
    assert.equal(await mayPublish(authorisation, caller, "test.ping", "web*"), true);
    assert.equal(await mayPublish(authorisation, caller, "test.ping", "*"), false);
    assert.equal(await mayPublish(authorisation, caller, "cmd.run", "web*"), false);
    assert.equal(await mayPublish(authorisation, caller, ["test.ping", "cmd.run"], "web*"), false);
    const identity = (await authorisation.identify(caller)) ?? assert.fail();
    const decide = (kind: "runner" | "wheel", fun: string) =>
      authorisation.mayCall(identity, kind, { fun, args: [], kwargs: undefined });
    assert.equal(decide("runner", "jobs.list_jobs"), "denied");
    assert.equal(decide("runner", "jobs.minions"), "own");
    assert.equal(decide("wheel", "key.accept"), "denied");
    assert.equal(decide("wheel", "saltworks.returns"), "own");
    assert.equal(decide("runner", "nodot"), "malformed");
    assert.equal(await authorisation.identify({ ...caller, user: "bob" }), undefined);
  });
});

describe("a user of external_auth", () => {
  const externalAuth = { file: { ann: [{ "web*": ["test.*"] }], "ops%": ["sys.*", "@jobs"], "*": ["grains.*"] } };

  it("is identified by its backend, with its own permissions and those of its groups", async () => {
    const { authorisation } = open({ external_auth: externalAuth });
    assert.equal(await authorisation.identify(eauth("ann", "wrong")), undefined);
    assert.equal(await authorisation.identify(eauth("ann", "right", "ldap")), undefined);
    assert.equal((await authorisation.identify(eauth("ann")))?.user, "ann");
    assert.equal(await mayPublish(authorisation, eauth("ann"), "test.ping", "web*"), true);
    assert.equal(await mayPublish(authorisation, eauth("ann"), "sys.doc", "*"), true);
    assert.equal(await mayPublish(authorisation, eauth("ann"), "grains.items", "*"), false);
    assert.equal(await mayPublish(authorisation, eauth("bob"), "grains.items", "*"), true);
  });

  it("has the same by a token until it expires or is taken back", async () => {
    const { authorisation, clock } = open({ external_auth: externalAuth, token_expire: 60 });
    const credential = { eauth: "file", username: "ann", password: "right" };
    assert.equal(await authorisation.makeToken({ ...credential, password: "wrong" }, undefined), undefined);
    const made = (await authorisation.makeToken(credential, 9_999)) ?? assert.fail();
    assert.deepEqual([...made.keys()], ["start", "expire", "name", "eauth", "groups", "token"]);
    assert.deepEqual(made.get("expire"), new Float(startMs / 1_000 + 60));
    const token = String(made.get("token"));
    const caller: Caller = { kind: "token", user: "root", token };
    assert.equal((await authorisation.identify(caller))?.user, "ann");
    assert.equal(await mayPublish(authorisation, caller, "sys.doc", "*"), true);
    assert.equal(await mayPublish(authorisation, caller, "cmd.run", "*"), false);
    assert.equal(authorisation.readToken(token)?.get("name"), "ann");
    clock.nowMs += 60_001;
    assert.equal(await authorisation.identify(caller), undefined);
    const next = String((await authorisation.makeToken(credential, undefined))?.get("token"));
    assert.equal(authorisation.removeToken(next), true);
    assert.equal(await authorisation.identify({ ...caller, token: next }), undefined);
  });

  it("may choose a token's life where that is allowed", async () => {
    const { authorisation } = open({ external_auth: externalAuth, token_expire_user_override: { file: ["ann"] } });
    const lifeOf = async (username: string) => {
      const made = await authorisation.makeToken({ eauth: "file", username, password: "right" }, 5);
      const expire = made?.get("expire");
      return expire instanceof Float ? expire.value - startMs / 1_000 : undefined;
    };
    assert.equal(await lifeOf("ann"), 5);
    assert.equal(await lifeOf("bob"), 43_200);
  });

  it("keeps in a token what the backend itself granted", async () => {
    const { authorisation } = open({ external_auth: { rest: { "^url": "http://127.0.0.1/", ann: [] } } });
    const made = await authorisation.makeToken({ eauth: "rest", username: "ann", password: "right" }, undefined);
    const caller: Caller = { kind: "token", user: "root", token: String(made?.get("token")) };
    assert.equal(await mayPublish(authorisation, caller, "test.ping", "*"), true);
    assert.equal(await mayPublish(authorisation, caller, "test.echo", "*"), false);
  });
});

describe("a job that waits for minions", () => {
  const job = { fun: "test.ping", arg: [] };
  const web = { ann: [{ "web*": ["test.*"] }] };

  it("is its user's as long as the configuration grants it", async () => {
    const before = open({ external_auth: { file: { ...web, "ops%": ["sys.*"] } } }).authorisation;
    const source = await sourceOf(before, eauth("ann"));
    assert.equal(await before.mayStillPublish(source, job, ["web1"]), true);
    assert.equal(await before.mayStillPublish(source, { ...job, fun: "sys.doc" }, ["db1"]), true, "by a group");
    const after: [string, Overrides, boolean][] = [
      ["narrower", { external_auth: { file: { ann: [{ db1: ["test.*"] }] } } }, false],
      ["another function", { external_auth: { file: { ann: [{ "web*": ["sys.*"] }] } } }, false],
      ["none", { external_auth: { file: {} } }, false],
      ["no such system", { external_auth: { pam: web } }, false],
      ["on a blacklist", { external_auth: { file: web }, publisher_acl_blacklist: { users: ["ann"] } }, false],
      ["wider", { external_auth: { file: { ann: [".*"] } } }, true],
    ];
    for (const [name, overrides, expected] of after)
      assert.equal(await open(overrides).authorisation.mayStillPublish(source, job, ["web1"]), expected, name);
  });

  it("is a local user's as long as publisher_acl grants it, and always the master's own", async () => {
    const ann = { kind: "key", user: "ann", isMaster: false } as const;
    const { authorisation } = open({ publisher_acl: web });
    const source = await sourceOf(authorisation, ann);
    assert.equal(await authorisation.mayStillPublish(source, job, ["web1"]), true);
    assert.equal(await open({ publisher_acl: {} }).authorisation.mayStillPublish(source, job, ["web1"]), false);
    const root = await authorisation.identify({ ...ann, user: "root", isMaster: true });
    assert.deepEqual([root?.grants, root?.source], [undefined, undefined]);
  });

  it("is a minion's as long as peer permits it", async () => {
    const source = { kind: "peer", user: "root", minion: "db1" } as const;
    for (const [peer, expected] of [
      [{ "db.*": ["test.*"] }, true],
      [{ "db.*": [{ "web*": ["test.*"] }] }, true],
      [{ "db.*": [{ db1: ["test.*"] }] }, false],
      [{ "web.*": ["test.*"] }, false],
      [{}, false],
    ] as const)
      assert.equal(await open({ peer }).authorisation.mayStillPublish(source, job, ["web1"]), expected);
  });

  it("is undecided for minions without data, if a grant is for grains", async () => {
    const { authorisation } = open({ external_auth: { file: { ann: [{ "G@role:web": ["test.*"] }] } } });
    const source = await sourceOf(authorisation, eauth("ann"));
    const may = (id: string, isHopeful: boolean) => authorisation.mayStillPublish(source, job, [id], isHopeful);
    assert.deepEqual([await may("new1", false), await may("new1", true)], [false, true]);
    assert.deepEqual([await may("db1", false), await may("db1", true)], [false, false]);
  });

  it("has by a token the permissions of the token's user", async () => {
    const { authorisation } = open({ external_auth: { file: web } });
    const credential = { eauth: "file", username: "ann", password: "right" };
    const token = String((await authorisation.makeToken(credential, undefined))?.get("token"));
    const source = await sourceOf(authorisation, { kind: "token", user: "root", token });
    assert.ok(!JSON.stringify(source).includes(token), "it holds no token");
    assert.equal(await authorisation.mayStillPublish(source, job, ["web1"]), true);
    assert.equal(
      await open({ external_auth: { file: {} } }).authorisation.mayStillPublish(source, job, ["web1"]),
      false,
    );
  });
});

describe("a job that is kept", () => {
  it("holds no credentials of its user", () => {
    const secrets = ["key", "token", "eauth", "username", "password"];
    const load = new Map<Value, Value>(secrets.map((name) => [name, "secret"]));
    load.set("kwargs", new Map<Value, Value>([...secrets.map((name) => [name, "secret"] as const), ["metadata", 1]]));
    load.set("user", "root");
    const job = toJob(load, "ann");
    assert.ok(!encode(job.load, "bin").includes("secret"));
    assert.equal(job.load.get("user"), "ann");
    assert.equal(job.publishFields.get("metadata"), 1);
  });
});

describe("expired tokens", () => {
  it("are removed in the background, others stay", async () => {
    const { authorisation, clock, directory } = open({ external_auth: { auto: {} }, token_expire: 60 });
    const credential = { eauth: "auto", username: "x", password: "right" };
    const expired = await authorisation.makeToken(credential, undefined);
    clock.nowMs += 30_000;
    const kept = await authorisation.makeToken(credential, undefined);
    await authorisation.sweep(startMs + 61_000);
    assert.equal(readdirSync(directory).length, 1);
    assert.equal(authorisation.readToken(String(kept?.get("token")))?.get("name"), "x");
    // By the clock of the authorisation, which has not reached its end, it would be good still.
    assert.equal(authorisation.readToken(String(expired?.get("token"))), undefined);
  });
});
