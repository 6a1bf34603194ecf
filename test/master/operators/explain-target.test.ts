import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { explainedMax } from "../../../src/limits.ts";
import { TargetExplainer } from "../../../src/master/operators/explain-target.ts";
import type { Asker } from "../../../src/master/operators/granted-minions.ts";
import { Targets, targetOnWire } from "../../../src/master/publish/targets.ts";
import { matchesExpected, matchesKnown } from "../../../src/target/expected.ts";
import type { Facts } from "../../../src/target/facts.ts";
import { parseTarget } from "../../../src/target/parse.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { packTexts } from "../../../src/wire/text-list.ts";
import type { Value, ValueMap } from "../../../src/wire/values.ts";
import type { MatchTask } from "../../../src/workers/messages/worker.ts";
import type { WorkerPool } from "../../../src/workers/threads/worker-pool.ts";
import { asMap } from "../../target/fleet.ts";

const idCount = 2_000;
const ids = Array.from({ length: idCount }, (_, index) => `m${String(index).padStart(4, "0")}`);
/** Every tenth minion has no data. */
const factsOf = (id: string): Facts | undefined =>
  id.endsWith("0")
    ? undefined
    : { id, grains: asMap({ os: id.endsWith("1") ? "Debian" : "CentOS" }), pillar: asMap({}) };

/** One worker that decides for each minion separately. */
const pool = {
  slotCount: 1,
  offer: (_slot: number, { build }: { build: () => { task: MatchTask } }) => {
    const { task } = build();
    const target = parseTarget(task.targetKind, decode(task.target) as string | string[], task.delimiter);
    const isMeant = task.isGreedy === false ? matchesKnown : matchesExpected;
    const { count, bytes } = packTexts(ids.filter((id) => isMeant(target, id, factsOf(id))));
    return Promise.resolve({ state: "ready", count, ids: bytes });
  },
} as unknown as WorkerPool;
const logger = pino({ level: "silent" });
const accepted = new Set(ids);
const config = {
  nodegroups: { even: "E@m...[02468]", loop: "N@loop", secret: "m0001 or I@a:b" },
  minion_data_cache: true,
  configFile: "/etc/salt/master",
};
const targets = new Targets({ pool, accepted, config, logger });
const nowMs = Date.UTC(2026, 0, 1, 12);
const explainer = new TargetExplainer({
  targets,
  accepted,
  presence: {
    contactMs: (id) => (id < "m0500" ? nowMs - 3_000 : id < "m0600" ? nowMs - 600_000 : undefined),
    isConnected: (id) => id < "m0500",
  },
  keyState: (id) => (id === "waiting" ? "pending" : undefined),
  nowMs: () => nowMs,
});
const target = (text: string | string[], targetKind = "compound") => ({ target: text, targetKind, delimiter: ":" });

async function ask(fun: string, load: { readonly [name: string]: Value }, asker?: Asker): Promise<ValueMap> {
  const answer = explainer.functions.get(fun)?.(new Map(Object.entries(load)), asker);
  return decode(encode((await answer) ?? null, "raw")) as ValueMap;
}
const explain = (tgt: Value, kind = "compound") => ask("saltworks.explain_target", { tgt, tgt_type: kind });
const part = (answer: ValueMap, name: string) => answer.get(name) as ValueMap;

describe("a target that a restricted user asks about", () => {
  const ann: Asker = { user: "ann", granted: async () => new Set(["m0001", "m0002", "m0010"]) };
  const everyone: Asker = { user: "bob", granted: async () => "everyone" };
  const match = (tgt: Value, kind: string, asker = ann) =>
    ask("saltworks.match_target", { tgt, tgt_type: kind }, asker);

  it("names only the granted minions, and counts no others", async () => {
    assert.deepEqual((await match("*", "glob")).get("minions"), ["m0001", "m0002", "m0010"]);
    assert.equal((await match("*", "glob")).get("count"), 3);
    assert.equal((await ask("saltworks.match_target", { tgt: "*", is_counted: true }, ann)).get("count"), 3);
    assert.equal((await match("*", "glob", everyone)).get("count"), idCount);
    const listed = await match(["m0001", "m0003", "absent"], "list");
    assert.deepEqual([listed.get("minions"), listed.get("missing")], [["m0001"], ["m0003", "absent"]]);
    assert.deepEqual((await match("G@os:Debian", "compound")).get("minions"), ["m0001", "m0010"]);
  });

  it("is refused where it is decided from pillars, however that is written", async () => {
    const written: [Value, string][] = [
      ["a:b", "pillar"],
      ["a:b", "pillar_pcre"],
      ["a:b", "pillar_exact"],
      ["m* and I@a:b", "compound"],
      ["not ( m1 or J@a:b )", "compound"],
      ["I@a:b", "compound_pillar_exact"],
      [["m1", "or", "I@a:b"], "compound"],
      ["secret", "nodegroup"],
      ["even or N@secret", "compound"],
    ];
    for (const asker of [ann, everyone])
      for (const [tgt, kind] of written)
        await assert.rejects(match(tgt, kind, asker), { code: "TARGET_INVALID" }, `${kind} ${String(tgt)}`);
    await assert.rejects(ask("saltworks.explain_target", { tgt: "I@a:b", tgt_type: "compound" }, ann), {
      code: "TARGET_INVALID",
    });
  });

  it("is explained by the granted minions", async () => {
    const answer = await ask(
      "saltworks.explain_target",
      { tgt: "m0001 or m0003 or waiting or G@os:CentOS", tgt_type: "compound" },
      ann,
    );
    assert.equal(answer.get("matched"), 3);
    const unknown = part(answer, "unknown").get("first") as ValueMap;
    assert.deepEqual([...unknown.keys()], ["m0003", "waiting"]);
    assert.deepEqual(new Set(unknown.values()).size, 1);
    const terms = part(answer, "terms").get("first") as ValueMap;
    assert.deepEqual([terms.get("m0003"), terms.get("G@os:CentOS")], [0, 2]);
  });
});

describe("an explained target", () => {
  it("is counted in full and named in part, however large the fleet is", async () => {
    const answer = await explain("*", "glob");
    assert.equal(answer.get("matched"), idCount);
    const connected = part(answer, "connected");
    assert.equal(connected.get("count"), 500);
    const first = connected.get("first") as ValueMap;
    assert.equal(first.size, explainedMax);
    assert.equal(first.get("m0000"), "last heard 2026-01-01T11:59:57Z, 3 s ago");
    const away = part(answer, "not_connected");
    assert.equal(away.get("count"), 1_500);
    assert.equal((away.get("first") as ValueMap).get("m0500"), "last heard 2026-01-01T11:50:00Z, 600 s ago");
    assert.ok(encode(answer, "raw").length < 20_000);
    const unheard = await explain("m1999", "glob");
    const only = part(unheard, "not_connected").get("first") as ValueMap;
    assert.equal(only.get("m1999"), "not heard since the master's start");
  });
  it("shows what each term matches by itself, and which minions are only assumed to match", async () => {
    const answer = await explain("N@even and not G@os:Debian or m0001 or ghost or waiting");
    assert.equal(answer.get("target"), "E@m...[02468] and not G@os:Debian or m0001 or ghost or waiting");
    const terms = part(answer, "terms").get("first") as ValueMap;
    assert.deepEqual(Object.fromEntries(terms), {
      "E@m...[02468]": 1_000,
      "G@os:Debian": 400,
      m0001: 1,
      ghost: 0,
      waiting: 0,
    });
    const debian = await explain("os:Debian", "grain");
    assert.deepEqual([debian.get("matched"), part(debian, "without_grains_or_pillar").get("count")], [400, 200]);
  });
  it("names ids that it spells out and the master does not know", async () => {
    const answer = await explain("m0001 or ghost or waiting or L@lost,m0002 or not other");
    assert.deepEqual(Object.fromEntries(part(answer, "unknown").get("first") as ValueMap), {
      ghost: "no key of this name",
      lost: "no key of this name",
      waiting: "its key is pending",
    });
    const many = await explain(
      Array.from({ length: 5_000 }, (_, index) => `x${index}`),
      "list",
    );
    assert.equal(part(many, "unknown").get("count"), 5_000);
    assert.equal((part(many, "unknown").get("first") as ValueMap).size, explainedMax);
  });
  it("says what is wrong with it", async () => {
    const faults: [string, string, RegExp][] = [
      ["m0001 m0002", "compound", /two terms without operator/],
      ["( m0001", "compound", /minions cannot read it \(unclosed \(\)/],
      ["( ) or m0001", "compound", /it expects no minion/],
      ["%x", "range", /range server/],
      ["[", "pcre", /unterminated/],
    ];
    for (const [text, kind, fault] of faults)
      assert.match(String((await explain(text, kind)).get("fault")), fault, text);
    await assert.rejects(explain("(m)\\1", "pcre"), { code: "TARGET_INVALID", message: /back-reference/ });
    await assert.rejects(explain("N@loop"), { code: "TARGET_INVALID", message: /illegal nested nodegroup "loop"/ });
    await assert.rejects(explain(7), { code: "TARGET_INVALID" });
  });
  it("is only counted if nothing else is asked", async () => {
    assert.deepEqual([...(await ask("saltworks.match_target", { tgt: "m000*", is_counted: true }))], [["count", 10]]);
    const whole = await ask("saltworks.match_target", { tgt: ["m0001", "ghost"], tgt_type: "list" });
    assert.deepEqual([whole.get("count"), whole.get("minions"), whole.get("missing")], [1, ["m0001"], ["ghost"]]);
  });
});

describe("what the master makes of a target", () => {
  it("names an unknown group in Salt's words", () => {
    assert.throws(() => targets.written(target("none", "nodegroup")), {
      code: "TARGET_INVALID",
      message: "Node group none unavailable in /etc/salt/master",
    });
  });
  it("expects no minion for a target that Salt cannot read, and refuses one that only this program cannot", async () => {
    for (const [text, kind] of [
      ["es1 es2", "compound"],
      ["%x", "range"],
      ["R@x or m0001", "compound"],
      ["[", "pcre"],
    ]) {
      assert.equal((await targets.expected(target(text ?? "", kind))).minions.count, 0, text);
    }
    await assert.rejects(targets.expected(target("(m)\\1", "pcre")), { code: "TARGET_INVALID" });
  });
  it("expects all minions for a target that needs their data, if none is kept", async () => {
    const without = new Targets({ pool, accepted, config: { ...config, minion_data_cache: false }, logger });
    for (const [text, kind] of [
      ["os:Debian", "grain"],
      ["es1 es2", "compound"],
      ["R@x", "compound"],
      ["::1", "ipcidr"],
    ]) {
      assert.equal((await without.expected(target(text ?? "", kind))).minions.count, idCount, text);
    }
    assert.equal((await without.expected(target("m000*", "glob"))).minions.count, 10);
    assert.equal((await without.expected(target("*", "hosts"))).minions.count, 0);
    assert.equal((await without.expected(target("os:Debian", "grain"), false)).minions.count, 200);
  });
  it("sends compounds in the form for all releases, and everything else as it is", () => {
    assert.equal(targetOnWire(target("( a or b )")), "* and ( a or b )");
    assert.deepEqual(targetOnWire(target(["a", "b"], "list")), ["a", "b"]);
    assert.equal(targetOnWire(target("not*", "glob")), "not*");
  });
});
