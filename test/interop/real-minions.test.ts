import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { repositoryRoot } from "../root.ts";
import type { EventWatch } from "./event-watch.ts";
import { testJobs } from "./job-list.ts";
import { masterCounters } from "./master-counters.ts";
import { Operator } from "./operator.ts";
import { Program } from "./program.ts";
import { openReleases } from "./salt-releases.ts";
import { readOurStore } from "./stored-return.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "./test-bed.ts";

const releases = await openReleases();
const signInTimeoutMs = 60_000;
const reconnectTimeoutMs = 60_000;
const minionOf = (release: string) => `real-${release}`;

describe("real minions on our master", { skip: releases.skip }, () => {
  const bed = new TestBed();
  const ids = releases.all.map((release) => minionOf(release.name));
  const binaryFile = join(bed.folder, "binary");
  const binary = Buffer.from("\xff\xfe\x00 not UTF-8 \x80\n", "latin1");
  let master: MasterUnderTest;
  let operator: Operator;
  let watch: EventWatch;

  before(async () => {
    writeFileSync(binaryFile, binary);
    master = await MasterUnderTest.create(bed, "ours");
    await master.start();
    operator = new Operator("ours", master);
    watch = await bed.watchEvents(master.sockDir);
    for (const release of releases.all) {
      new MinionUnderTest(master, release, minionOf(release.name), {
        // A restarted master is found again within a second, not within Salt's random ten.
        recon_default: 100,
        recon_max: 500,
        recon_randomize: false,
      });
    }
  });
  after(() => bed.close());

  /** Pings until all have answered one and the same ping. */
  async function untilAllAnswer(): Promise<void> {
    const deadlineMs = performance.now() + reconnectTimeoutMs;
    for (;;) {
      const answers =
        (await operator.json("salt", ["-t", "2", "--gather-job-timeout=1", "*", "test.ping", "--static"])) ?? {};
      if (ids.every((id) => (answers as Record<string, unknown>)[id] === true)) return;
      assert.ok(performance.now() < deadlineMs, `not all answer: ${JSON.stringify(answers)}`);
    }
  }

  const signIns = (events: EventWatch) =>
    events.seen.filter(({ tag }) => tag === "salt/auth").map(({ data }) => `${data.get("id")} ${data.get("act")}`);

  bed.it("have their keys listed as unaccepted, then accepted through our key command, and start", async () => {
    for (const id of ids) {
      const isPending = (act: unknown, who: unknown) => act === "pend" && who === id;
      await watch.until(`${id} pending`, ({ data }) => isPending(data.get("act"), data.get("id")), signInTimeoutMs);
    }
    const listed = (await operator.json("key", ["-L"])) as Record<string, string[]>;
    assert.deepEqual(listed, { minions: [], minions_denied: [], minions_pre: ids, minions_rejected: [] });
    const accepted = await operator.run("key", ["-y", "-a", "real-*"]);
    assert.equal(accepted.code, 0, accepted.stderr);
    for (const id of ids) {
      await watch.until(`${id} start`, ({ tag }) => tag === `salt/minion/${id}/start`, signInTimeoutMs);
    }
    const after = (await operator.json("key", ["-L"])) as Record<string, string[]>;
    assert.deepEqual(after, { minions: ids, minions_denied: [], minions_pre: [], minions_rejected: [] });
  });

  for (const release of releases.all) {
    testJobs(
      `Salt ${release.version} answers`,
      () => ({
        bed,
        operator,
        minionId: minionOf(release.name),
        readStored: (jid, id) => readOurStore(master.cacheDir, jid, id),
        showsTrimmed: false,
      }),
      bed,
    );

    bed.it(`Salt ${release.version} returns bytes that are no text, stored byte for byte`, async () => {
      const id = minionOf(release.name);
      const shown = await operator.job(id, ["file.read", binaryFile, "binary=True"]);
      const stored = await readOurStore(master.cacheDir, shown.jid, id);
      assert.ok(stored.value instanceof Uint8Array, `${typeof stored.value}`);
      assert.ok(binary.equals(stored.value), Buffer.from(stored.value).toString("hex"));
      assert.equal(shown.value, "b'\\xff\\xfe\\x00 not UTF-8 \\x80\\n'");
    });
  }

  for (const release of releases.all) {
    bed.it(`an event subscriber of Salt ${release.version} reads on after a binary return`, async () => {
      const script = join(repositoryRoot, "test/interop/follow_events.py");
      const follower = new Program("subscriber", release.program("python"), [script, master.configDir]);
      try {
        await follower.untilLine(/^following$/, signInTimeoutMs);
        const binaryJob = await operator.job(minionOf(release.name), ["file.read", binaryFile, "binary=True"]);
        const textJob = await operator.job(minionOf(release.name), ["test.echo", "still here"]);
        const line = (jid: string) => follower.untilLine(new RegExp(`salt/job/${jid}/ret/`), signInTimeoutMs);
        assert.match(await line(binaryJob.jid), /"bytes"/);
        assert.match(await line(textJob.jid), /"str", "'still here'"/);
      } finally {
        await follower.kill();
      }
    });
  }

  bed.it("take compounds in the form that goes out for minions of every release", async () => {
    for (const target of ["( real-* or ghost ) and not other", "not ghost", "( not ( not real-* ) )"]) {
      const answers = await operator.json("salt", ["-C", target, "test.ping", "--static"]);
      assert.deepEqual(answers, Object.fromEntries(ids.map((id) => [id, true])), target);
    }
  });

  bed.it("take files that our cp command sends, whole and in pieces", async () => {
    const folder = mkdtempSync(join(tmpdir(), "saltworks-copies-"));
    try {
      const text = join(folder, "a.conf");
      writeFileSync(text, "port = 1\nname = grüße\n");
      const target = join(folder, "b=c.conf");
      const sent = await operator.json("cp", ["real-*", text, target]);
      assert.deepEqual(sent, Object.fromEntries(ids.map((id) => [id, { [target]: true }])));
      assert.equal(readFileSync(target, "utf8"), readFileSync(text, "utf8"));
      const tree = join(folder, "tree");
      mkdirSync(join(tree, "empty"), { recursive: true });
      // More than two pieces, and Base64 that ends in `=`, which minions take for a keyword where it goes by place.
      writeFileSync(join(tree, "bytes"), randomBytes(250_000), { mode: 0o750 });
      writeFileSync(join(tree, "x"), "hello small\n");
      writeFileSync(join(tree, "nothing"), "");
      for (const [index, id] of ids.entries()) {
        const copied = join(folder, `${index}`);
        const answers = (await operator.json("cp", ["-C", ...(index === 0 ? ["-n"] : []), id, tree, copied])) as Record<
          string,
          Record<string, unknown>
        >;
        const paths = ["bytes", "empty", "nothing", "x"].map((name) => join(copied, "tree", name));
        assert.deepEqual(answers[id], Object.fromEntries(paths.map((path) => [path, true])));
        assert.deepEqual(readFileSync(join(copied, "tree/bytes")), readFileSync(join(tree, "bytes")));
        assert.equal(statSync(join(copied, "tree/bytes")).mode & 0o777, 0o750);
        assert.equal(statSync(join(copied, "tree/nothing")).size, 0);
        assert.ok(statSync(join(copied, "tree/empty")).isDirectory());
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  bed.it("stay connected across a master restart without authenticating again", async () => {
    assert.ok((await masterCounters(master)).sum("auths") >= ids.length, "sign-ins are counted");
    watch.close();
    await master.restart();
    watch = await bed.watchEvents(master.sockDir);
    await untilAllAnswer();
    assert.deepEqual(signIns(watch), []);
    assert.equal((await masterCounters(master)).sum("auths"), 0);
  });

  bed.it("stay connected across a key rotation", async () => {
    const rotated = watch.seen.length;
    writeFileSync(join(master.pkiDir, "minions", "gone"), await firstKey());
    await operator.run("key", ["-y", "-d", "gone"]);
    await watch.until(
      "rotation",
      ({ tag, data }) => tag === "key" && data.get("rotate_aes_key") === true,
      signInTimeoutMs,
    );
    const answers = await operator.json("salt", ["*", "test.ping", "--static"]);
    assert.deepEqual(answers, Object.fromEntries(ids.map((id) => [id, true])));
    const rotations = watch.seen.slice(rotated).filter(({ tag }) => tag === "key");
    assert.equal(rotations.length, 1, "one command, one rotation");
  });

  /** The public key of one of the minions, as `key -p` shows it. */
  async function firstKey(): Promise<string> {
    const shown = (await operator.json("key", ["-p", ids[0] ?? ""])) as { minions: Record<string, string> };
    return Object.values(shown.minions)[0] ?? "";
  }
});
