/** Jobs to nodegroups and compounds reach minions that read targets as releases of 2014 and 2015 did, which ignore lists silently. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { MasterClient } from "../../../src/client/master-client.ts";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { oldReleases } from "../../../src/target/old-release.ts";
import { EventWatch } from "../../interop/event-watch.ts";
import { Program } from "../../interop/program.ts";
import { cliFile, startOurMaster } from "../our-master.ts";

const startTimeoutMs = 120_000;
const releases = new Map([...oldReleases.map((release) => [`m${release}`, release] as const), ["present", ""]]);
const ids = [...releases.keys()].sort();
const everyone = ids.join(",");
const nodegroups = {
  plain: `L@${everyone} or G@os:Nope`,
  single: `L@${everyone},`,
  neg: "not L@ghost",
  two: `G@role:web and L@${everyone}`,
  parens: `( L@${ids.slice(0, 2).join(",")} or L@${ids.slice(2).join(",")} ) and not L@ghost`,
  nested: "N@plain and not L@ghost",
  nested2: "N@nested or L@other",
  only: "N@plain",
  hidden: "( not ( not m* ) or present )",
  lst: ids,
  words: [`L@${everyone}`, "or", "G@os:Nope"],
  ref_lst: "N@lst",
};

describe("minions that read targets as releases of 2014 and 2015", { timeout: 300_000 }, () => {
  let root: string;
  let master: Awaited<ReturnType<typeof startOurMaster>>;
  let client: MasterClient;
  const minions: Program[] = [];

  before(async () => {
    root = mkdtempSync(join(tmpdir(), "sw-old-minions-"));
    master = await startOurMaster(ids.length, { auto_accept: true, nodegroups, minimum_auth_version: 0 });
    const config = loadMasterConfig(master.configDirectory);
    const watch = await EventWatch.open(config.sock_dir, startTimeoutMs);
    for (const [id, release] of releases) {
      const configDir = join(root, id);
      mkdirSync(configDir);
      const settings = {
        id,
        master: "127.0.0.1",
        master_port: master.requestPort,
        publish_port: config.publish_port,
        root_dir: join(root, id, "root"),
        user: userInfo().username,
        grains: { role: "web" },
        target_parser_release: release,
        // Those releases used request version 0.
        request_version: release === "" ? 3 : 0,
      };
      writeFileSync(join(configDir, "minion"), JSON.stringify(settings));
      minions.push(new Program(id, process.execPath, [cliFile, "minion", "-c", configDir]));
    }
    for (const id of ids) await watch.until(id, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
    watch.close();
    client = await MasterClient.open(config, userInfo().username);
  });
  after(async () => {
    client?.close();
    for (const minion of minions) minion.killNow();
    await master?.remove();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  });

  async function answering(targetKind: string, target: string | string[]): Promise<string[]> {
    const follow = { timeoutSeconds: 15, gatherTimeoutSeconds: 15 };
    const job = await client.run({ targetKind, target, fun: "test.ping", args: [], follow });
    const answered: string[] = [];
    for await (const event of job?.events() ?? []) if (event.kind === "return") answered.push(event.id);
    job?.close();
    return answered.sort();
  }

  for (const name of Object.keys(nodegroups)) {
    it(`nodegroup ${name} reaches them all, asked for by name or within a compound`, async () => {
      assert.deepEqual(await answering("nodegroup", name), ids);
      assert.deepEqual(await answering("compound", `N@${name} and not ghost`), ids);
    });
  }
  it("compounds reach them however they are written, also as the list that masters of 2016 sent", async () => {
    assert.deepEqual(await answering("compound", "( ( present ) or ( not ghost ) )"), ids);
    assert.deepEqual(await answering("compound", ["(", `L@${everyone}`, "or", "G@os:Nope", ")"]), ids);
    assert.deepEqual(await answering("compound", "not m2014*"), ["m2015.5", "present"]);
    assert.deepEqual(await answering("compound", "( not m2014* and not present )"), ["m2015.5"]);
  });
  it("a form that those releases did not know reaches only the present one, so that the rehearsal is one", async () => {
    const job = { targetKind: "compound", target: "G|@role|web", fun: "test.ping", args: [] };
    const published = await client.publish(job);
    assert.deepEqual([...(published?.minions ?? [])].sort(), ids);
    const returned = async () => {
      const { value } = await client.wheel("saltworks.returns", { jid: published?.jid ?? "", ids });
      return [...(value as ReadonlyMap<string, unknown>).keys()];
    };
    const untilMs = performance.now() + startTimeoutMs;
    // A minion that has answered a later job has had this one.
    do assert.deepEqual(await answering("glob", "*"), ids);
    while (!(await returned()).includes("present") && performance.now() < untilMs);
    assert.deepEqual(await returned(), ["present"]);
  });
});
