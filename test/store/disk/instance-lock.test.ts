/** Only one master may use a directory; a lock of a dead master does not count. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { claimInstance } from "../../../src/store/disk/instance-lock.ts";
import { temporaryDirectories } from "../temporary.ts";

const holder = fileURLToPath(new URL("./lock-holder.js", import.meta.url));

/** A process that holds the lock of a directory until it is killed. */
async function holdElsewhere(directory: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [holder, directory], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

describe("the instance lock", () => {
  const temporary = temporaryDirectories();

  it("is given again once released", () => {
    const directory = temporary();
    const lock = claimInstance([directory]);
    lock.release();
    lock.release();
    assert.equal(existsSync(join(directory, ".saltworks.lock")), false);
    claimInstance([directory]).release();
  });

  it("refuses while another process lives, naming it, and gives back what it already had", async () => {
    const [free, held] = [temporary(), temporary()];
    const child = await holdElsewhere(held);
    try {
      assert.throws(() => claimInstance([free, held]), {
        code: "MASTER_RUNNING",
        message: new RegExp(`process ${child.pid}`),
        detail: { directory: held, pid: child.pid ?? 0 },
      });
      assert.equal(existsSync(join(free, ".saltworks.lock")), false);
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    const lock = claimInstance([free, held]);
    assert.equal(readFileSync(join(held, ".saltworks.lock"), "utf8").split(" ")[0], String(process.pid));
    lock.release();
  });

  it("refuses a second claim by the same process", () => {
    const directory = temporary();
    const lock = claimInstance([directory]);
    assert.throws(() => claimInstance([directory]), { code: "MASTER_RUNNING" });
    lock.release();
  });

  it("takes over from a process that has ended but whose parent has not asked how", async () => {
    const directory = temporary();
    // The shell becomes `sleep`, which never waits for its child, so the ended child stays a zombie.
    const script = "exec 3<&0; cat <&3 >&2 & echo $!; exec sleep 30";
    const parent = spawn("sh", ["-c", script], { stdio: ["pipe", "pipe", "inherit"] });
    try {
      const pid = Number(String((await once(parent.stdout, "data"))[0]).trim());
      const fieldsOf = () => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      const isSleep = () => readFileSync(`/proc/${parent.pid}/comm`, "utf8") === "sleep\n";
      while (!isSleep()) await new Promise((resolve) => setImmediate(resolve));
      parent.stdin.end();
      while (fieldsOf()[0] !== "Z") await new Promise((resolve) => setImmediate(resolve));
      writeFileSync(join(directory, ".saltworks.lock"), `${pid} ${fieldsOf()[19]}\n`);
      claimInstance([directory]).release();
    } finally {
      parent.kill("SIGKILL");
    }
  });

  it("takes over from a process id that belongs to another process now", () => {
    const directory = temporary();
    writeFileSync(join(directory, ".saltworks.lock"), `${process.ppid} 1\n`);
    claimInstance([directory]).release();
  });

  it("takes over an unreadable lock and one whose takeover died", () => {
    const directory = temporary();
    writeFileSync(join(directory, ".saltworks.lock"), "");
    claimInstance([directory]).release();
    writeFileSync(join(directory, ".saltworks.lock"), "999999999 1\n");
    const takeover = join(directory, ".saltworks.lock.takeover");
    writeFileSync(takeover, "999999999 1\n");
    assert.throws(() => claimInstance([directory]), { code: "MASTER_RUNNING" });
    utimesSync(takeover, 1_000, 1_000);
    claimInstance([directory]).release();
    assert.equal(existsSync(takeover), false);
  });

  it("lets exactly one of many newcomers take over a dead one's lock", async () => {
    const directory = temporary();
    writeFileSync(join(directory, ".saltworks.lock"), "999999999 1\n");
    const children = Array.from({ length: 6 }, () =>
      spawn(process.execPath, [holder, directory], { stdio: ["ignore", "pipe", "ignore"] }),
    );
    const outcomes = await Promise.all(
      children.map((child) =>
        Promise.race([once(child.stdout, "data").then(() => "held"), once(child, "exit").then(() => "refused")]),
      ),
    );
    for (const child of children) child.kill("SIGKILL");
    assert.equal(outcomes.filter((outcome) => outcome === "held").length, 1, outcomes.join());
  });
});
