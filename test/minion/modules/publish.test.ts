import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { SaltworksError } from "../../../src/errors.ts";
import { asValue, type Value, type ValueMap } from "../../../src/wire/values.ts";
import { openWorld, type WorldOptions } from "./world.ts";

let root = "";
let worldCount = 0;
before(() => {
  root = mkdtempSync(join(tmpdir(), "sw-pub-"));
});
after(() => rmSync(root, { recursive: true }));

function open(master?: WorldOptions["master"], minion = "") {
  worldCount += 1;
  const own = join(root, String(worldCount));
  return openWorld(own, { ...(master && { master }), minion: `id: unit\nroot_dir: ${own}\n${minion}` });
}

const map = (fields: { [name: string]: Value }): ValueMap => new Map(Object.entries(fields));
const jid = "20261120155414147463";

/** A master that has one more minion's return at each request. */
function masterWith(minions: readonly string[], missing: readonly string[] = []) {
  let polls = 0;
  return ({ cmd }: { readonly [name: string]: Value }): Value => {
    if (cmd === "minion_pub") return map({ jid, minions: [...minions, ...missing] });
    polls += 1;
    return new Map(minions.slice(0, polls).map((id): [Value, Value] => [id, map({ ret: `of ${id}` })]));
  };
}

describe("publish.publish", () => {
  it("sends the job to the master and collects the returns", async () => {
    const world = await open(masterWith(["es1", "es2"]));
    const { value } = await world.call(["publish.publish", "es*", "test.echo", "hi, there", "tgt_type=glob"]);
    assert.deepEqual(asValue(value), map({ es1: "of es1", es2: "of es2" }));
    assert.deepEqual(
      world.asked[0],
      map({
        ...{ cmd: "minion_pub", fun: "test.echo", arg: ["hi, there"], tgt: "es*", tgt_type: "glob", ret: "" },
        ...{ tmo: 5, form: "clean", no_parse: [] },
      }),
    );
    assert.deepEqual(world.asked.slice(1), [map({ cmd: "pub_ret", jid }), map({ cmd: "pub_ret", jid })]);
  });

  it("makes a list of its argument, which is YAML", async () => {
    const world = await open(() => new Map());
    const words = [[], ["''"], ["1,two"], ["[a, 2]"], ["arg=['k=v', x]"], ["{a: 1}"], ["7"]];
    for (const word of words) await world.call(["publish.publish", "*", "test.arg", ...word]);
    assert.deepEqual(
      world.asked.map((load) => load.get("arg")),
      [[], [""], ["1,two"], ["a", 2], ["k=v", "x"], [map({ a: 1 })], [7]],
    );
  });

  it("gives up after its time, with the returns so far, or none", async () => {
    const some = await open(masterWith(["es1"], ["silent"]));
    const late = await some.call(["publish.publish", "*", "test.ping", "timeout=0.1"]);
    assert.deepEqual(asValue(late.value), map({ es1: "of es1" }));
    const none = await open(masterWith([], ["silent"]));
    assert.deepEqual(asValue((await none.call(["publish.publish", "*", "test.ping", "timeout=0"])).value), new Map());
    assert.deepEqual(none.asked.length, 3);
  });

  it("is empty without permission, and None if no minion matches", async () => {
    const denied = await open(() => new Map());
    assert.deepEqual(asValue((await denied.call(["publish.publish", "*", "cmd.run", "id"])).value), new Map());
    const nobody = await open(() => map({ jid: 0, minions: [] }));
    assert.equal((await nobody.call(["publish.publish", "nosuch", "test.ping"])).value, null);
  });

  it("shows a text of the master, and its own if the master is silent", async () => {
    const busy = await open(() => "refused by the master: too many");
    assert.equal((await busy.call(["publish.publish", "*", "test.ping"])).value, "refused by the master: too many");
    const silent = await open(() => {
      throw new SaltworksError("REQUEST_TIMEOUT", "no reply");
    });
    assert.equal((await silent.call(["publish.publish", "*", "test.ping"])).value, "'test.ping' publish timed out");
    assert.equal((await silent.call(["publish.runner", "test.arg"])).value, "'test.arg' runner publish timed out");
  });

  it("does not publish itself, and sends nothing without a master", async () => {
    const world = await open(() => true);
    assert.deepEqual(asValue((await world.call(["publish.publish", "*", "publish.publish"])).value), new Map());
    assert.deepEqual(world.asked, []);
    const alone = await open(undefined, "file_client: local\n");
    assert.deepEqual(asValue((await alone.call(["publish.full_data", "*", "test.ping"])).value), new Map());
    assert.ok(alone.logged.some((line) => line.includes("without a connection to a salt master")));
    assert.match(String((await alone.call(["publish.runner", "manage.up"])).value), /^No access to master\./);
  });

  it("takes via_master only if it names the only master", async () => {
    const words = ["publish.publish", "*", "test.ping", "via_master=m1"];
    const single = await open(() => new Map(), "master: m1\n");
    await assert.rejects(single.call(words), /Could not find list of masters in minion configuration/);
    const other = await open(() => new Map(), "master: [m2]\n");
    await assert.rejects(other.call(words), /Could not find match for m1 in list of configured masters \['m2'\]/);
    const several = await open(() => new Map(), "master: [m1, m2]\n");
    await assert.rejects(several.call(words), /connected to one at a time/);
    const one = await open(() => new Map(), "master: ['m1:4506']\n");
    assert.deepEqual(asValue((await one.call(words)).value), new Map());
  });

  it("refuses a time that is not a number", async () => {
    const world = await open(masterWith(["es1"]));
    await assert.rejects(world.call(["publish.publish", "*", "test.ping", "timeout=soon"]), /'float' and 'str'/);
  });
});

describe("publish.full_data and publish.runner", () => {
  it("full_data keeps the map around each return", async () => {
    const world = await open(masterWith(["es1"]));
    const { value } = await world.call(["publish.full_data", "es1", "test.ping"]);
    assert.deepEqual(asValue(value), map({ es1: map({ ret: "of es1" }) }));
    assert.equal(world.asked[0]?.get("form"), "full");
  });

  it("runner asks the master for a runner and shows its result", async () => {
    const world = await open(() => map({ args: ["a b"], kwargs: new Map() }));
    const { value } = await world.call(["publish.runner", "test.arg", "a b"]);
    assert.deepEqual(asValue(value), map({ args: ["a b"], kwargs: new Map() }));
    assert.deepEqual(world.asked, [map({ cmd: "minion_runner", fun: "test.arg", arg: ["a b"], tmo: 5, no_parse: [] })]);
  });
});
