/** Stock `salt-syndic`s below our master, compared with the same tree below Salt's master. */
import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { untilSo } from "../../fleet/cluster/members.ts";
import { comparable } from "../golden/same-output.ts";
import { Operator } from "../operator.ts";
import { openReleases, type SaltRelease } from "../salt-releases.ts";
import { type Maker, TestBed } from "../test-bed.ts";
import { leaves, SyndicTree, syndicId } from "./tree.ts";

const releases = await openReleases();
const main = releases.all.find(({ name }) => name === "3007");
const skip = releases.skip !== false ? releases.skip : main === undefined ? "Salt 3007 is not installed" : false;
const eventTimeoutMs = 60_000;

type Command = readonly ["salt" | "run", ...string[]];

/** Commands whose output is the same but for order and times. */
const alike: readonly Command[] = [
  ["salt", "*", "test.ping"],
  ["salt", "-G", "leaf:leaf2", "test.ping"],
  ["salt", "-C", "leaf* and not G@leaf:leaf2", "test.arg", "one", "two=2"],
  ["salt", "-L", "leaf1,nosuch", "test.ping"],
  ["salt", "-N", "leaves", "test.ping"],
  ["salt", "nosuch*", "test.ping"],
  ["salt", "leaf1", "cmd.run", "echo no; exit 3"],
  ["salt", "leaf1", "no.such"],
  ["salt", "leaf1", "test.sleep", "9"],
  ["run", "--out=json", "manage.up"],
];

/** Likewise, one at a time: a minion refuses states while others run. */
const alikeAlone: readonly Command[] = [
  ["salt", "--out=quiet", "*", "state.apply", "fine"],
  ["salt", "--out=quiet", "*", "state.apply", "broken"],
];

/** Most of a command's time below a syndic is a wait; more at once would be too much for a small machine. */
const commandsAtOnce = 3;

describe("minions below a syndic of Salt 3007", { skip }, () => {
  const bed = new TestBed();
  let release: SaltRelease;
  let ours: SyndicTree;
  let theirs: SyndicTree;

  before(async () => {
    if (main === undefined) return;
    release = main;
    writeFileSync(join(bed.folder, "users"), "ann:ann-keeps-this-1\n");
    const grow = (top: Maker) => {
      const name = top === "ours" ? "ours" : "theirs";
      const users = { "^filename": join(bed.folder, "users"), ann: [{ leaf1: ["test.*"] }] };
      const topOptions = { nodegroups: { leaves: "L@leaf1,leaf2" }, external_auth: { file: users } };
      return SyndicTree.grow({ bed, top, below: release, name, topOptions });
    };
    [ours, theirs] = await Promise.all([grow("ours"), grow(release)]);
  });
  after(() => bed.close());

  bed.it("answer as below Salt's master, to Salt's commands and to ours", async () => {
    const operators = [theirs.operator(release), ours.operator(release), ours.operator("ours")];
    const shownTo = async (operator: Operator, [tool, ...words]: Command) => {
      const { stdout, code } = comparable(await operator.run(tool, words));
      return { stdout: withoutLogLines(stdout), code };
    };
    for (let first = 0; first < alike.length; first += commandsAtOnce) {
      const check = async (command: Command) => {
        const [expected, ...others] = await Promise.all(operators.map((operator) => shownTo(operator, command)));
        for (const other of others) assert.deepEqual(other, expected, command.join(" "));
      };
      await Promise.all(alike.slice(first, first + commandsAtOnce).map(check));
    }
    for (const command of alikeAlone) {
      const [bySalt, byTheirTool] = await Promise.all(operators.slice(0, 2).map((each) => shownTo(each, command)));
      assert.deepEqual(byTheirTool, bySalt, command.join(" "));
      assert.deepEqual(await shownTo(ours.operator("ours"), command), bySalt, command.join(" "));
    }
  });

  bed.it("run batch jobs, one after the other", async () => {
    const words = ["-b", "1", "*", "test.ping"];
    const [byOurs, bySalt] = await Promise.all(
      [ours.operator("ours"), ours.operator(release)].map((operator) => operator.run("salt", words)),
    );
    assert.equal(byOurs?.code, 0, byOurs?.stderr);
    assert.equal(bySalt?.code, 0, bySalt?.stderr);
    for (const id of leaves) {
      assert.match(String(byOurs?.stdout), new RegExp(`Executing run on \\['${id}'\\]`));
      for (const shown of [byOurs, bySalt]) assert.match(String(shown?.stdout), new RegExp(`^${id}:\\n {4}True`, "m"));
    }
  });

  bed.it("are found in the job cache with the minions that the lower master told of", async () => {
    const jid = await ours.operator("ours").jobOfAll(leaves, ["test.ping"]);
    const run = (...words: string[]) => ours.operator("ours").json("run", words);
    assert.deepEqual(await run("jobs.lookup_jid", jid), { leaf1: true, leaf2: true });
    const listed = (await run("jobs.list_job", jid)) as { readonly Minions: string[] };
    assert.deepEqual([...listed.Minions].sort(), [syndicId, ...leaves]);
    assert.deepEqual(readdirSync(join(ours.top.cacheDir, "syndics")), [syndicId]);
    assert.deepEqual(await run("manage.status"), { up: [...leaves], down: [syndicId] });
  });

  bed.it("have their lower master's jobs in the job cache above", async () => {
    const below = new Operator(release, ours.lower);
    const { jid } = await below.job("leaf1", ["test.arg", "from below"]);
    const tag = `salt/job/${jid}/ret/leaf1`;
    await ours.topEvents.until("the return above", (event) => event.tag === tag, eventTimeoutMs);
    const listed = (await ours.operator("ours").json("run", ["jobs.list_job", jid])) as Record<string, unknown>;
    assert.deepEqual([listed.Function, listed.Target, listed.Arguments], ["test.arg", "leaf1", ["from below"]]);
    assert.deepEqual(listed.Minions, ["leaf1"]);
  });

  bed.it("fire events that arrive above, under their own tag and the syndic's", async () => {
    for (const { topEvents, operator } of [ours, theirs].map((tree) => ({
      ...tree,
      operator: tree.operator(release),
    }))) {
      await operator.run("salt", ["--async", "leaf1", "event.send", "my/tag", "text=hello"]);
      for (const tag of ["my/tag", `syndic/${syndicId}/my/tag`]) {
        const { data } = await topEvents.until(tag, (event) => event.tag === tag, eventTimeoutMs);
        assert.equal(data.get("id"), "leaf1");
      }
    }
    // A tag of the master's about another minion: Salt's master fires it in both forms.
    for (const { topEvents, operator } of [ours, theirs].map((tree) => ({
      ...tree,
      operator: tree.operator(release),
    }))) {
      const tag = "salt/minion/leaf1/start";
      const from = topEvents.seen.length;
      await operator.run("salt", ["--async", "leaf1", "event.send", tag, "text=hello"]);
      const isBelow = (event: { tag: string; data: ReadonlyMap<unknown, unknown> }) =>
        event.tag === `syndic/${syndicId}/${tag}` && event.data.get("data") instanceof Map;
      await topEvents.until("the start", isBelow, eventTimeoutMs);
      const isBare = topEvents.seen.slice(from).some((event) => event.tag === tag);
      assert.equal(isBare, topEvents === theirs.topEvents);
    }
  });

  bed.it("are out of a restricted user's reach where the grant does not name them", async () => {
    const login = ["-a", "file", "--username=ann", "--password=ann-keeps-this-1", "--out=json", "--static"];
    const check = async (operator: Operator) => {
      const asked = async (...words: string[]) => (await operator.run("salt", [...login, ...words])).stdout.toString();
      const [granted, refused] = await Promise.all([asked("leaf1", "test.ping"), asked("leaf2", "test.ping")]);
      assert.match(granted, /"leaf1": true/, operator.name);
      assert.doesNotMatch(refused, /"leaf2": true/, operator.name);
    };
    await Promise.all([theirs.operator(release), ours.operator(release), ours.operator("ours")].map(check));
  });

  bed.it("that do not answer are named as silent, and the syndic is not", async () => {
    for (const tree of [ours, theirs]) await tree.minions[1]?.program.kill();
    const [expected, ...others] = await Promise.all(
      [theirs.operator(release), ours.operator(release), ours.operator("ours")].map(async (operator) => {
        const { stdout, code } = comparable(await operator.run("salt", ["*", "test.ping"]));
        return { stdout, code };
      }),
    );
    for (const other of others) assert.deepEqual(other, expected);
    assert.match(expected?.stdout ?? "", /^leaf2:\n {4}Minion did not return\. \[No response\]/m);
    assert.doesNotMatch(expected?.stdout ?? "", new RegExp(syndicId));
  });

  bed.it("are not waited for once the syndic's key is gone", async () => {
    const operator = ours.operator("ours");
    // A syndic that runs authenticates again at once, and this master accepts every key.
    await ours.syndic.program.kill();
    await operator.run("key", ["-y", "-d", syndicId]);
    // The master hears of a key that another program removed by a watch of the directory.
    await untilSo("the syndic is gone from the status", async () => {
      const status = (await operator.json("run", ["manage.status"])) as {
        readonly up: string[];
        readonly down: string[];
      };
      assert.deepEqual(status.up, []);
      return status.down.length === 0;
    });
    assert.deepEqual(readdirSync(join(ours.top.cacheDir, "syndics")), []);
  });
});

// The syndic of 3008.4 sends one event and then hangs, below Salt's master as below ours.
describe("minions below a syndic of Salt 3006", { skip }, () => {
  const bed = new TestBed();
  const older = releases.all.find(({ name }) => name === "3006");
  let tree: SyndicTree;

  before(async () => {
    if (older !== undefined) tree = await SyndicTree.grow({ bed, top: "ours", below: older, name: "older" });
  });
  after(() => bed.close());

  bed.it("answer and return", async () => {
    for (const maker of ["ours", older ?? assert.fail()] as const) {
      const { code, stdout, stderr } = await tree.operator(maker).run("salt", ["--out=txt", "*", "test.ping"]);
      assert.equal(code, 0, stderr);
      assert.deepEqual(stdout.toString().trim().split("\n").sort(), ["leaf1: True", "leaf2: True"]);
    }
  });
});

/** Salt's runners print log lines among their output. */
function withoutLogLines(text: string): string {
  return text.replaceAll(/^\[[A-Z ]+\] .*\n/gm, "");
}
