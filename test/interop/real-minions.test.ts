import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe } from "node:test";
import { repositoryRoot } from "../root.ts";
import type { EventWatch } from "./event-watch.ts";
import { testJobs } from "./job-list.ts";
import { masterCounters } from "./master-counters.ts";
import { Operator } from "./operator.ts";
import { Program, runCommand } from "./program.ts";
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
  const fileRoot = join(bed.folder, "srv");
  let master: MasterUnderTest;
  let operator: Operator;
  let watch: EventWatch;
  const minions: MinionUnderTest[] = [];

  before(async () => {
    writeFileSync(binaryFile, binary);
    writeFiles();
    master = await MasterUnderTest.create(bed, "ours", {
      peer: { "real-.*": ["test.arg"] },
      peer_run: { "real-.*": ["test.arg"] },
      file_roots: { base: [fileRoot] },
      file_recv: true,
    });
    await master.start();
    operator = new Operator("ours", master);
    watch = await bed.watchEvents(master.sockDir);
    for (const release of releases.all) {
      const minion = new MinionUnderTest(master, release, minionOf(release.name), {
        // A minion finds a restarted master within a second, not within Salt's random ten.
        recon_default: 100,
        recon_max: 500,
        recon_randomize: false,
      });
      minions.push(minion);
    }
  });
  after(() => bed.close());

  function writeFiles(): void {
    mkdirSync(join(fileRoot, "tree/hollow"), { recursive: true });
    const files = {
      small: "small\n",
      empty: "",
      "tree/large": randomBytes(3_500_000),
      "tree/run.sh": '#!/bin/sh\necho "$1-$2"\nexit 3\n',
      "motd.sls": "{{ pillar.target }}/{{ grains.id }}/motd:\n  file.managed:\n    - source: salt://small\n",
    };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(fileRoot, name), content);
  }

  /** Pings until all minions have answered the same ping. */
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

  bed.it("publish to each other and call runners with salt-call, as far as they are permitted to", async () => {
    const ask = async ({ id, maker, configDir }: MinionUnderTest, ...words: readonly string[]) => {
      assert.ok(maker !== "ours");
      const { stdout, stderr, code } = await runCommand(maker.program("salt-call"), [
        "-c",
        configDir,
        "--out=json",
        ...words,
      ]);
      assert.equal(code, 0, `${id}: ${words.join(" ")}: ${stdout}${stderr}`);
      return (JSON.parse(stdout.toString()) as { local: unknown }).local;
    };
    const askAll = (...words: readonly string[]) => Promise.all(minions.map((minion) => ask(minion, ...words)));
    const publishes = await askAll("publish.publish", "real-*", "test.arg", "[a, k=1]", "timeout=30");
    for (const [index, found] of publishes.entries()) {
      const returns = found as Record<string, { args: unknown; kwargs: Record<string, unknown> }>;
      assert.deepEqual(Object.keys(returns).toSorted(), ids);
      for (const { args, kwargs } of Object.values(returns))
        assert.deepEqual([args, kwargs.k, kwargs.__pub_id, kwargs.__pub_tgt], [["a"], 1, ids[index], "real-*"]);
    }
    assert.deepEqual(
      await askAll("publish.publish", "real-*", "cmd.run", "id"),
      ids.map(() => ({})),
    );
    const ran = await askAll("publish.runner", "test.arg", "[a, k=1]");
    assert.deepEqual(
      ran,
      ids.map(() => ({ args: ["a"], kwargs: { k: 1 } })),
    );
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

    bed.it(`Salt ${release.version} returns bytes that are not text, stored byte for byte`, async () => {
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
      const script = join(repositoryRoot, "test/interop/operators/follow_events.py");
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
      // More than two pieces, and Base64 that ends in `=`, which minions take for a keyword argument if it is positional.
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

  bed.it("are served files, directories, scripts and states, and send files", async () => {
    const target = join(bed.folder, "files");
    const at = (id: string, name: string) => join(target, id, name);
    const ask = async (...job: string[]) =>
      (await operator.json("salt", ["-t", "30", "real-*", ...job, "--static"])) as Record<string, unknown>;
    const each = (value: (id: string) => unknown) => Object.fromEntries(ids.map((id) => [id, value(id)]));
    const copied = (name: string) => [join(target, "{{ grains.id }}", name), "template=jinja"];
    for (const [source, ...more] of [["small", "makedirs=True"], ["empty"], ["tree/large", "gzip=3"]] as const) {
      const name = basename(source);
      const answers = await ask("cp.get_file", `salt://${source}`, ...copied(name), ...more);
      assert.deepEqual(
        answers,
        each((id) => at(id, name)),
      );
      for (const id of ids)
        assert.ok(readFileSync(at(id, name)).equals(readFileSync(join(fileRoot, source))), `${id} ${name}`);
    }
    assert.deepEqual(
      await ask("cp.get_file", "salt://../etc/master", join(target, "no")),
      each(() => ""),
    );
    const names = ["tree/hollow", "tree/large", "tree/run.sh"];
    const directories = await ask("cp.get_dir", "salt://tree", join(target, "{{ grains.id }}"), "template=jinja");
    assert.deepEqual(
      directories,
      each((id) => names.map((name) => at(id, name))),
    );
    const listed = ["empty", "motd.sls", "small", "tree/large", "tree/run.sh"];
    assert.deepEqual(
      await ask("cp.list_master"),
      each(() => listed),
    );
    const hash = { hash_type: "sha256", hsum: createHash("sha256").update("small\n").digest("hex") };
    assert.deepEqual(
      await ask("cp.hash_file", "salt://small"),
      each(() => hash),
    );
    const scripts = (await ask("cmd.script", "salt://tree/run.sh", "args='one two'")) as Record<
      string,
      Record<string, unknown>
    >;
    assert.deepEqual(
      Object.values(scripts).map(({ stdout, retcode }) => [stdout, retcode]),
      ids.map(() => ["one-two", 3]),
    );
    assert.deepEqual(
      await ask("cp.push", binaryFile),
      each(() => true),
    );
    const states = (await ask("state.apply", "motd", `pillar={target: ${target}}`)) as Record<
      string,
      Record<string, { result: boolean }>
    >;
    for (const id of ids) {
      const sent = readFileSync(join(master.cacheDir, "minions", id, "files", binaryFile));
      assert.ok(binary.equals(sent), id);
      assert.deepEqual(
        Object.values(states[id] ?? {}).map(({ result }) => result),
        [true],
        JSON.stringify(states[id]),
      );
      assert.equal(readFileSync(at(id, "motd"), "utf8"), "small\n");
    }
  });

  bed.it("stay connected across a master restart without authenticating again", async () => {
    assert.ok((await masterCounters(master)).sum("auths") >= ids.length, "sign-ins are counted");
    watch.close();
    const logged = minions.map(({ program }) => program.printedLength);
    await master.restart();
    watch = await bed.watchEvents(master.sockDir);
    await untilAllAnswer();
    assert.doesNotMatch(master.program.output, /new AES key/);
    // From 3007 on a minion watches its socket: when the connection breaks, it drops its session and logs it.
    const dropped = minions.filter(({ program }, index) =>
      /Connection to master \S+ lost/.test(program.outputSince(logged[index] ?? 0)),
    );
    const mayDrop = releases.all.filter(({ name }) => name !== "3006").map(({ name }) => minionOf(name));
    const notAllowed = dropped.map(({ id }) => id).filter((id) => !mayDrop.includes(id));
    assert.deepEqual(notAllowed, [], "a release that does not watch its socket");
    const signedIn = new Set(signIns(watch));
    for (const { id } of dropped) signedIn.delete(`${id} accept`);
    assert.deepEqual([...signedIn], [], "minions that kept their session sign in again");
    if (dropped.length === 0) assert.equal((await masterCounters(master)).sum("auths"), 0);
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

  /** The public key of one of the minions, from `key -p`. */
  async function firstKey(): Promise<string> {
    const shown = (await operator.json("key", ["-p", ids[0] ?? ""])) as { minions: Record<string, string> };
    return Object.values(shown.minions)[0] ?? "";
  }
});
