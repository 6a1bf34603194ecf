/** `ext_nodes` of `master_tops`: what the command writes, and commands that fail, hang or never end. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { extPillarBytesMax } from "../../src/limits.ts";
import { extNodes, extNodesOf, type FoundTops } from "../../src/pillar/tops/ext-nodes.ts";
import { plainJson } from "../plain.ts";

/** Runs a shell script, which gets the minion's id as `$0`. */
const found = (script: string, id = "web1", timeoutMs = 30_000): Promise<FoundTops> =>
  extNodes(`sh -c "${script}"`, id, process.env, { timeoutMs });
const states = async (script: string) => {
  const { fault, states } = await found(script);
  assert.equal(fault, undefined);
  return plainJson(states);
};

describe("the command of ext_nodes", () => {
  it("gets the minion's id and names states, as a list or as a map, in an environment", async () => {
    assert.deepEqual(await states("echo 'classes: [a, '$0']'"), { base: ["a", "web1"] });
    assert.deepEqual(await states("echo '{classes: {a: {x: 1}, b: }, environment: dev}'"), { dev: ["a", "b"] });
    assert.deepEqual(await states("echo 'classes: text'"), {});
    assert.deepEqual(await states("echo 'parameters: {x: 1}'"), {});
    assert.deepEqual(await states(":"), {});
  });

  it("names none and has a reason if it fails", async () => {
    const faultOf = async (...asked: Parameters<typeof found>) => {
      const { states, fault } = await found(...asked);
      assert.equal(states.size, 0);
      return fault ?? "";
    };
    assert.equal(await faultOf("echo 'classes: [a]'; echo why >&2; exit 3"), "the command ended with 3: why");
    assert.equal(await faultOf("echo 'secret: ['"), "YAML data of the command failed to parse (10 characters)");
    assert.match(await faultOf("sleep 600", "web1", 300), /ext_pillar_timeout \(0.3 seconds\)/);
    assert.equal(await faultOf("cat /dev/zero"), `the command wrote more than ${extPillarBytesMax} bytes`);
    assert.match(await faultOf("echo 'classes: [a]'", "--help"), /characters that a command must not be given/);
    const missing = await extNodes("/no/such/program", "web1", process.env, { timeoutMs: 30_000 });
    assert.equal(missing.fault, "the command could not be started: ENOENT");
    assert.equal((await extNodes("echo 'a", "web1", process.env, { timeoutMs: 1 })).fault, "No closing quotation");
  });

  it("is there only as a text", () => {
    assert.equal(extNodesOf({ ext_nodes: "/bin/nodes" }), "/bin/nodes");
    for (const other of [{}, { ext_nodes: null }, { ext_nodes: " " }, { ext_nodes: ["x"] }])
      assert.equal(extNodesOf(other as Record<string, unknown>), undefined);
  });
});
