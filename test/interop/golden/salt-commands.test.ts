import assert from "node:assert/strict";
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { EventWatch, SeenEvent } from "../event-watch.ts";
import { masterCounters } from "../master-counters.ts";
import { Operator } from "../operator.ts";
import { openReleases, type SaltRelease } from "../salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";
import { type Comparable, comparable } from "./same-output.ts";

const releases = await openReleases();
const startTimeoutMs = 60_000;
const comparisonTries = 3;
/** A deleted key has no effect a second after the command's end; the rest of the timeout is for a busy machine. */
const effectTimeoutMs = 30_000;

/** Words after `salt`, answered at once. Commands whose document would hold several minions in order of arrival ask one minion. */
const quickCommands: readonly (readonly string[])[] = [
  ["web*", "test.ping"],
  ...["json", "yaml", "txt", "raw", "nested", "pprint", "quiet"].flatMap((out) => [
    [`--out=${out}`, "web*", "test.ping"],
    [`--out=${out}`, "--static", "web1", "test.echo", "{a: [1, two, {b: null}], c: 1.5, d: grüße}"],
    [`--out=${out}`, "web1", "cmd.run_all", "echo one; echo two; exit 2", "python_shell=True"],
  ]),
  ["--static", "web*", "test.ping"],
  ["web*", "test.arg", "1", "1.50", "[a, 2]", "yes", "None", "x=1", "y={k: v}", "2026-11-20", "010", "12:30"],
  ["web*", "grains.item", "os", "kernel", "id", "nosuch"],
  ["web1", "grains.items"],
  ["web*", "cmd.run", "printf 'line one\\n  line two\\n\\nline four'"],
  ["web*", "cmd.run", "exit 3"],
  ["web*", "test.nosuch"],
  ["web1", "test.echo"],
  ["web1", "test.ping", "foo=bar"],
  ["web*", "test.echo", "ünïcode 🧂"],
  ["web*", "test.echo", ""],
  ["web1", "test.false"],
  ["-E", "web[12]$", "test.ping"],
  ["-L", "web1 web2", "test.ping"],
  ["-L", "web1,nosuch", "test.ping"],
  ["-L", "web1,nosuch", "--hide-timeout", "test.ping"],
  ["-L", "nosuch", "test.ping"],
  ["-N", "front", "test.ping"],
  ["-C", "( N@front or ghost* ) and not web2", "test.ping"],
  ["-N", "nosuch", "test.ping"],
  ["--preview-target", "web*"],
  ["nosuch*", "test.ping"],
  ["--out=json", "nosuch*", "test.ping"],
  ["--static", "nosuch*", "test.ping"],
  ["--async", "nosuch*", "test.ping"],
  ["--async", "web*", "test.ping"],
  ["-v", "web*", "test.ping"],
  ["--show-jid", "web*", "test.ping"],
  ["--summary", "web*", "test.ping"],
  ["--summary", "-v", "web1", "cmd.run", "exit 1"],
  ["--no-color", "web1", "test.ping"],
  ["--force-color", "web1", "test.echo", "[1, {a: b}]"],
  ["--subset=1", "-v", "web1", "test.ping"],
  ["-d", "web1", "test.ping"],
  ["--metadata={ticket: OPS-7}", "--module-executors=[direct_call]", "--show-jid", "web1", "test.ping"],
  ["--out=table", "web1", "test.echo", "[{a: 1, b: two}, {a: 3, b: four}]"],
  ["web1", "test.ping,test.arg", ",", "x"],
];

/** Commands that wait for minions run side by side. `ghost` has an accepted key but no minion. */
const slowCommands: readonly (readonly string[])[] = [
  ["ghost", "test.ping"],
  ["--hide-timeout", "ghost", "test.ping"],
  ["--out=json", "-L", "ghost,web2", "test.ping"],
  ["--summary", "-v", "-L", "ghost,web2", "test.ping"],
  ["web2", "cmd.run", "sleep 4; echo slept", "python_shell=True"],
];

/** These run as separate processes; together they have every exit code. */
const exitCodes: readonly (readonly string[])[] = quickCommands.filter((words) =>
  ["web* test.ping", "web* cmd.run exit 3", "nosuch* test.ping", "web1 test.echo"].includes(words.join(" ")),
);
const ofOwn: ReadonlySet<readonly string[]> = new Set([...exitCodes, ...slowCommands]);

/** Salt 3008 has no quiet outputter, and shows silent minions in spite of --hide-timeout; ours does what 3006 and 3007 do. */
function isComparable(release: SaltRelease, words: readonly string[]): boolean {
  return release.name !== "3008" || !words.some((word) => word === "--out=quiet" || word === "--hide-timeout");
}

describe("Salt's own salt command on our master, beside ours", { skip: releases.skip }, () => {
  const bed = new TestBed();
  const ours = new Map<string, Comparable>();
  let master: MasterUnderTest;
  let watch: EventWatch;

  before(async () => {
    master = await MasterUnderTest.create(bed, "ours", {
      timeout: 2,
      gather_job_timeout: 2,
      nodegroups: { front: "N@pair and not web3", pair: ["web1", "web2"] },
    });
    await master.start();
    watch = await bed.watchEvents(master.sockDir);
    const [, middle] = releases.all;
    if (middle !== undefined) new MinionUnderTest(master, middle, "web1");
    for (const id of ["web2", "web3"]) new MinionUnderTest(master, "ours", id);
    for (const id of ["web1", "web2", "web3"]) await accept(id);
    copyFileSync(join(master.pkiDir, "minions", "web2"), join(master.pkiDir, "minions", "ghost"));
    const operator = new Operator("ours", master);
    for (const words of quickCommands) await keepOurs(operator, words);
    await Promise.all(slowCommands.map((words) => keepOurs(operator, words)));
  });
  after(() => bed.close());

  /** Accepts the key when it is pending, and waits until the minion is up. */
  async function accept(id: string): Promise<void> {
    await watch.until(`${id} pending`, (event) => isAuth(event, id, "pend"), startTimeoutMs);
    await new Operator("ours", master).run("key", ["-y", "-a", id]);
    await watch.until(`${id} start`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
  }

  async function keepOurs(operator: Operator, words: readonly string[]): Promise<void> {
    const printed = comparable(await operator.run("salt", words, { isProcess: ofOwn.has(words) }));
    // Ours also prints why a minion is missing.
    const stderr = printed.stderr.replace(/^\S+ did not return: .*\n/gm, "");
    ours.set(words.join(" "), { ...printed, stderr });
  }

  /** A difference counts only if it occurs again, because with these short timeouts a busy machine can make a minion late for either side. */
  async function printsTheSame(release: SaltRelease, words: readonly string[]): Promise<void> {
    const name = words.join(" ");
    for (let tries = 1; ; tries += 1) {
      const theirs = comparable(
        await new Operator(release, master).run("salt", words, { isProcess: ofOwn.has(words) }),
      );
      if (isDeepStrictEqual(ours.get(name), theirs)) return;
      if (tries === comparisonTries) assert.deepEqual(ours.get(name), theirs, `salt ${name}`);
      await keepOurs(new Operator("ours", master), words);
    }
  }

  for (const release of releases.all) {
    for (const words of quickCommands.filter((command) => isComparable(release, command))) {
      bed.it(`Salt ${release.version} prints the same: salt ${words.join(" ")}`, () => printsTheSame(release, words));
    }
    bed.it(`Salt ${release.version} prints the same where minions are silent or slow`, async () => {
      const comparables = slowCommands.filter((command) => isComparable(release, command));
      await Promise.all(comparables.map((words) => printsTheSame(release, words)));
    });
  }

  for (const release of releases.all) {
    bed.it(`salt-key of ${release.version} deletes a key: its minion reads nothing more, one rotation`, async () => {
      const id = `doomed-${release.name}`;
      const minion = new MinionUnderTest(master, "ours", id);
      await accept(id);
      const before = watch.seen.length;
      const rotationsBefore = rotations(await masterCounters(master));
      const since = (isWanted: (event: SeenEvent) => boolean) => (event: SeenEvent) =>
        watch.seen.indexOf(event) >= before && isWanted(event);
      const deleted = await new Operator(release, master).run("key", ["-y", "-d", id], { isProcess: true });
      assert.equal(deleted.code, 0, deleted.stderr);
      assert.ok(!existsSync(join(master.pkiDir, "minions", id)));
      const isRotation = ({ tag, data }: SeenEvent) => tag === "key" && data.get("rotate_aes_key") === true;
      await watch.until("rotation", since(isRotation), effectTimeoutMs);
      const answers = new Operator("ours", master).json("salt", ["-t", "60", "web*", "test.ping", "--static"]);
      assert.deepEqual(await answers, { web1: true, web2: true, web3: true });
      // The deleted minion could not read that publish, so it authenticates with its key, which is now a stranger's.
      await watch.until(
        `${id} refused`,
        since((event) => isAuth(event, id, "pend")),
        startTimeoutMs,
      );
      await minion.program.stop();
      assert.equal(rotations(await masterCounters(master)) - rotationsBefore, 1, "one command, one rotation");
    });
  }
});

function isAuth({ tag, data }: SeenEvent, id: string, act: string): boolean {
  return tag === "salt/auth" && data.get("id") === id && data.get("act") === act;
}

function rotations(counters: Awaited<ReturnType<typeof masterCounters>>): number {
  const names = Array.from(counters.main.keys(), String).filter((name) => name.endsWith("rotations"));
  assert.equal(names.length, 1, names.join(" "));
  return Number(counters.main.get(names[0]));
}
