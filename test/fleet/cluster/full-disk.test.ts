/** A member whose server's disk is full for a while: the others go on, and the server has its store again without a restart of its master. */
import assert from "node:assert/strict";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { clusterStoreRoomBytes } from "../../../src/limits.ts";
import { mountSmall, unmount } from "../../cluster/small-disk.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { runCli } from "../run-cli.ts";
import { createKey, memberConfigs, startMembers, untilSo } from "./members.ts";

const cliTimeoutMs = 60_000;
const partBytes = 1024 * 1024;
const diskMebibytes = (2 * clusterStoreRoomBytes) / partBytes;

/** Writes until nothing fits. */
function fill(folder: string): string {
  const path = join(folder, "filler");
  const file = openSync(path, "w");
  try {
    for (const part of [Buffer.alloc(partBytes), Buffer.alloc(4_096)])
      while (statfsSync(folder).bavail * statfsSync(folder).bsize >= part.byteLength) writeSync(file, part);
  } finally {
    closeSync(file);
  }
  return path;
}

describe("the full disk of a member's server", { skip: await natsServerSkip(), timeout: 300_000 }, () => {
  let members: MasterProcess[] = [];
  let disk = "";
  let why: string | false = "not tried";
  let isStarted = false;

  before(async () => {
    const cache = temporary();
    disk = join(cache, "cluster");
    mkdirSync(disk);
    why = mountSmall(disk, diskMebibytes);
    if (why !== false) return;
    const [first = {}, second = {}, third = {}] = await memberConfigs(3, {});
    // Otherwise the directory would be put below `root_dir`.
    members = await startMembers([first, second, { ...third, root_dir: "/", cachedir: cache }]);
    isStarted = true;
  });
  after(async () => {
    await Promise.all(members.map((one) => one.remove()));
    if (why === false) unmount(disk);
  });
  // Its directories are removed after the hook above.
  const temporary = temporaryDirectories();

  const storing = async (): Promise<readonly string[]> => {
    const [first] = members;
    const words = ["cluster", "status", "-c", first?.configDirectory ?? "", "--json"];
    const { stdout } = await runCli(words, cliTimeoutMs);
    if (stdout === "") return [];
    const { servers } = JSON.parse(stdout) as { servers: { name: string; isStoring: boolean; isAnswering: boolean }[] };
    return servers.filter(({ isStoring, isAnswering }) => isStoring && isAnswering).map(({ name }) => name);
  };
  const all = ["member1", "member2", "member3"];

  it("turns its store off, and has it again once there is room", async (test) => {
    if (why !== false) return test.skip(why);
    assert.ok(isStarted);
    await untilSo("all store", async () => (await storing()).length === 3);
    const [first, , third] = members;
    assert.ok(first !== undefined && third !== undefined);
    let count = 0;
    const acceptAndSend = async (text: string) => {
      count += 1;
      writeFileSync(join(first.pkiDirectory, "minions", `web${count}`), createKey().publicPem);
      const words = ["salt", "-c", first.configDirectory, "--async", "*", "test.echo", text];
      return (await runCli(words, cliTimeoutMs)).exitCode === 0;
    };
    // nats-server takes gigabytes of memory when the first record of a file does not fit, until its bound ends it. Here it fits.
    await untilSo("a first job", () => acceptAndSend("x"));
    const filler = fill(disk);
    const large = "x".repeat(partBytes / 16);
    await untilSo(
      "its store is off",
      async () => (await acceptAndSend(large)) && !(await storing()).includes("member3"),
    );
    assert.deepEqual((await storing()).toSorted(), ["member1", "member2"]);
    const pid = third.processId;
    rmSync(filler);
    await untilSo("it stores again", async () => (await storing()).length === 3, 120_000);
    assert.deepEqual((await storing()).toSorted(), all);
    assert.equal(third.processId, pid);
    assert.match(readFileSync(join(third.directory, "output"), "utf8"), /its disk has room again: it is started again/);
    const ids = Array.from({ length: count }, (_, at) => `web${at + 1}`);
    await untilSo("it has the keys of that time", () =>
      ids.every((id) => existsSync(join(third.pkiDirectory, "minions", id))),
    );
  });
});
