import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, it } from "node:test";
import { EventStreamServer } from "../../src/transport/event-stream-server.ts";
import { type ListSockets, PeerFramings } from "../../src/transport/peer-framing.ts";
import { encodeEvent, frameEvent } from "../../src/wire/event.ts";
import { type Framing, reframe } from "../../src/wire/event-framing.ts";

const folder = mkdtempSync(join(tmpdir(), "peer-framing-"));
const proc = join(folder, "proc");
let nextPid = 1;

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** The path of a Python with this Salt release. */
function installation(release: string): string {
  const prefix = join(folder, release);
  mkdirSync(join(prefix, "lib/python3.11/site-packages", `salt-${release}.dist-info`), { recursive: true });
  return join(prefix, "bin/python3");
}

/** `executable`: the link in /proc to the process's program; null if this user may not read it. */
function running(words: string[], executable: string | null = (words[0] ?? "").split(" ")[0] ?? ""): void {
  const process = join(proc, String(nextPid));
  nextPid += 1;
  mkdirSync(process, { recursive: true });
  writeFileSync(join(process, "cmdline"), `${words.join("\0")}\0`);
  // A folder in the link's place cannot be read as a link.
  if (executable === null) mkdirSync(join(process, "exe"));
  else symlinkSync(executable, join(process, "exe"));
}

function framingOfPeer(inode: string | undefined, procFolder: string, listSockets?: ListSockets): Promise<Framing> {
  return new PeerFramings(procFolder, listSockets).of(inode);
}

after(() => rmSync(folder, { recursive: true }));

describe("framingOfPeer", () => {
  beforeEach(() => {
    rmSync(proc, { recursive: true, force: true });
    mkdirSync(join(proc, "sys"), { recursive: true });
    running(["/usr/bin/node", "/srv/saltworks", "salt"]);
  });
  it("is plain for the releases that read frames without length", async () => {
    for (const release of ["3006.9", "3006.25", "3007.15", "3008.3"]) {
      rmSync(proc, { recursive: true });
      running([installation(release), "/usr/bin/salt", "*", "test.ping"]);
      assert.equal(await framingOfPeer(undefined, proc), "plain", release);
    }
  });
  it("is counted for late 3006", async () => {
    running([installation("3006.28"), "/usr/bin/salt-run", "state.event"]);
    assert.equal(await framingOfPeer(undefined, proc), "counted");
  });
  it("finds the installation by the executable where the command line names none", async () => {
    running(["python3", "listener.py"], installation("3006.26"));
    assert.equal(await framingOfPeer(undefined, proc), "counted");
  });
  it("reads the title that a program has given itself", async () => {
    running([`${installation("3006.28")} /usr/bin/salt-run state.event`]);
    assert.equal(await framingOfPeer(undefined, proc), "counted");
  });
  it("is for either where programs disagree, and where none runs", async () => {
    assert.equal(await framingOfPeer(undefined, proc), "either");
    running([installation("3006.28"), "listener.py"]);
    running([installation("3007.1"), "/usr/bin/salt"]);
    assert.equal(await framingOfPeer(undefined, proc), "either");
    assert.equal(await framingOfPeer(undefined, join(folder, "nowhere")), "either");
  });
  it("finds the process at the other end of the socket if programs disagree", async () => {
    running([installation("3006.28"), "listener.py"]);
    const late3006 = nextPid - 1;
    running([installation("3008.3"), "/usr/bin/salt"]);
    const current = nextPid - 1;
    const listing = [
      `u_str ESTAB 0 0 /run/master_event_pub.ipc 901 * 801 users:(("node",pid=7,fd=30))`,
      `u_str ESTAB 0 0 * 801 * 901 users:(("salt",pid=${late3006},fd=9))`,
      `u_str ESTAB 0 0 /run/master_event_pub.ipc 902 * 802 users:(("node",pid=7,fd=31))`,
      `u_str ESTAB 0 0 * 802 * 902 users:(("salt",pid=${current},fd=9),("salt",pid=99999,fd=9))`,
      `u_str ESTAB 0 0 /run/master_event_pub.ipc 903 * 803 users:(("node",pid=7,fd=32))`,
      `u_str ESTAB 0 0 * 803 * 903 users:(("tail-events",pid=55555,fd=3))`,
    ].join("\n");
    const asked = (inode: string) => framingOfPeer(inode, proc, async () => listing);
    assert.equal(await asked("901"), "counted");
    assert.equal(await asked("902"), "plain");
    assert.equal(await asked("903"), "plain");
    assert.equal(await asked("999"), "either");
    assert.equal(await framingOfPeer("901", proc, async () => undefined), "either");
  });
  it("reads command lines if it may not read the links of others' processes", async () => {
    running([installation("3006.28"), "/usr/bin/salt-run", "state.event"], null);
    running(["/usr/sbin/sshd"], null);
    assert.equal(await framingOfPeer(undefined, proc), "counted");
  });
  it("does not read the command line of a program that is not a Python", async () => {
    running([installation("3006.28"), "listener.py"], "/usr/bin/editor");
    running([installation("3007.15"), "/usr/bin/salt"]);
    assert.equal(await framingOfPeer(undefined, proc), "plain");
  });
  it("looks once for all programs that connect meanwhile, and after they have connected", async () => {
    running([installation("3006.28"), "listener.py"]);
    const late3006 = nextPid - 1;
    running([installation("3008.3"), "/usr/bin/salt"]);
    let listings = 0;
    const listed = deferred<string>();
    const begun = deferred<void>();
    const peers = new PeerFramings(proc, () => {
      listings += 1;
      begun.resolve();
      return listed.promise;
    });
    const first = peers.of("901");
    await begun.promise;
    const later = Array.from({ length: 20 }, () => peers.of("901"));
    listed.resolve(
      [
        `u_str ESTAB 0 0 /run/master_event_pub.ipc 901 * 801 users:(("node",pid=7,fd=30))`,
        `u_str ESTAB 0 0 * 801 * 901 users:(("salt",pid=${late3006},fd=9))`,
      ].join("\n"),
    );
    assert.deepEqual(new Set(await Promise.all([first, ...later])), new Set(["counted"]));
    assert.ok(listings <= 3, `${listings} looks for 21 subscribers`);
    // A program that did not exist at the last look.
    rmSync(proc, { recursive: true });
    running([installation("3007.15"), "/usr/bin/salt"]);
    assert.equal(await peers.of("902"), "plain");
  });
  it("does not take a look that was given up as proof that other programs are absent", async () => {
    running([installation("3006.28"), "listener.py"]);
    const late3006 = nextPid - 1;
    running([installation("3007.15"), "/usr/bin/salt"]);
    const current = nextPid - 1;
    // Its command line never comes, because the pipe has no writer.
    const commandLine = join(proc, String(current), "cmdline");
    rmSync(commandLine);
    execFileSync("mkfifo", [commandLine]);
    const listing = [
      `u_str ESTAB 0 0 /run/master_event_pub.ipc 901 * 801 users:(("node",pid=7,fd=30))`,
      `u_str ESTAB 0 0 * 801 * 901 users:(("salt",pid=${late3006},fd=9))`,
      `u_str ESTAB 0 0 /run/master_event_pub.ipc 902 * 802 users:(("node",pid=7,fd=31))`,
      `u_str ESTAB 0 0 * 802 * 902 users:(("salt",pid=${current},fd=9))`,
    ].join("\n");
    try {
      const peers = new PeerFramings(proc, async () => listing, 500);
      assert.equal(
        await peers.of("902"),
        "either",
        "neither counted, as the seen programs are, nor taken for another program",
      );
      assert.equal(await peers.of("901"), "counted");
      assert.equal(await new PeerFramings(proc, async () => undefined, 500).of("902"), "either");
    } finally {
      // Lets the read of the pipe end.
      closeSync(openSync(commandLine, constants.O_RDWR | constants.O_NONBLOCK));
    }
  });
  it("examines the process at the other end alone after a look that was given up", async () => {
    running([installation("3006.28"), "listener.py"]);
    running([installation("3007.15"), "/usr/bin/salt"]);
    const current = nextPid - 1;
    const commandLine = join(proc, String(current), "cmdline");
    rmSync(commandLine);
    execFileSync("mkfifo", [commandLine]);
    const listing = [
      `u_str ESTAB 0 0 /run/master_event_pub.ipc 902 * 802 users:(("node",pid=7,fd=31))`,
      `u_str ESTAB 0 0 * 802 * 902 users:(("salt",pid=${current},fd=9))`,
    ].join("\n");
    // The sockets are listed after the look. Its read of the command line ends now, as on a machine that was busy.
    const listSockets = async () => {
      const pipe = openSync(commandLine, constants.O_RDWR | constants.O_NONBLOCK);
      writeSync(pipe, `${installation("3007.15")}\0/usr/bin/salt\0`);
      closeSync(pipe);
      return listing;
    };
    assert.equal(await new PeerFramings(proc, listSockets, 500).of("902"), "plain");
  });

  it("passes over minions and masters, which do not subscribe", async () => {
    running([installation("3006.28"), "/usr/bin/salt-minion", "-d"]);
    running([installation("3007.15"), "/usr/bin/salt", "*", "test.ping"]);
    assert.equal(await framingOfPeer(undefined, proc), "plain");
  });
});

describe("a subscriber whose framing is not known yet", () => {
  it("gets what was published meanwhile, in order and in its framing", async () => {
    const pubPath = join(folder, "pub.ipc");
    const asked = deferred<void>();
    const answer = deferred<Framing>();
    const server = await EventStreamServer.listen({
      pubPath,
      pullPath: join(folder, "pull.ipc"),
      pubMode: 0o600,
      pullMode: 0o600,
      subscriberBytesMax: 1024 * 1024,
      onEvent: () => undefined,
      framingOf: () => {
        asked.resolve();
        return answer.promise;
      },
    });
    const socket = createConnection(pubPath);
    await asked.promise;
    const frames = ["first", "second", "third"].map((tag) => frameEvent(encodeEvent(tag, {})));
    for (const frame of frames.slice(0, 2)) server.publish(frame);
    answer.resolve("counted");
    await answer.promise;
    server.publish(frames[2] ?? Buffer.alloc(0));
    const closing = server.close();
    const received: Buffer[] = [];
    for await (const chunk of socket) received.push(chunk as Buffer);
    await closing;
    assert.deepEqual(Buffer.concat(received), Buffer.from(reframe(Buffer.concat(frames), "counted")));
  });
});
