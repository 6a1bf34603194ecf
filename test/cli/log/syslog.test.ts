import assert from "node:assert/strict";
import { createSocket, Socket as UdpSocket } from "node:dgram";
import dns from "node:dns";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, mock } from "node:test";
import { LogFile } from "../../../src/cli/log/file.ts";
import { Syslog, syslogPlace } from "../../../src/cli/log/syslog.ts";
import { syslogLineBytesMax, syslogLookupMs } from "../../../src/limits.ts";
import { Datagrams } from "./datagrams.ts";

const line = (level: number, msg: string): string => `${JSON.stringify({ level, msg })}\n`;
const clock = "[A-Z][a-z]{2} [ \\d]\\d \\d\\d:\\d\\d:\\d\\d";

describe("log_file as the system's log", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "sw-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  it("is written as Salt writes it", () => {
    const places: [string, unknown][] = [
      ["/var/log/salt/master", undefined],
      ["file:///dev/log", { kind: "unix", path: "/dev/log", facility: 1 }],
      ["file:///dev/log/LOG_DAEMON", { kind: "unix", path: "/dev/log", facility: 3 }],
      ["file:///dev/log/log_local3", { kind: "unix", path: "/dev/log", facility: 19 }],
      ["udp://localhost", { kind: "udp", host: "localhost", port: 514, facility: 1 }],
      ["udp://localhost:5145/LOG_KERN", { kind: "udp", host: "localhost", port: 5145, facility: 0 }],
      ["tcp://[::1]:514/LOG_USER", { kind: "tcp", host: "::1", port: 514, facility: 1 }],
    ];
    for (const [text, place] of places) assert.deepEqual(syslogPlace(text), place, text);
    for (const wrong of [
      "udp://localhost/LOG_NONE",
      "tcp://localhost/daemon",
      "udp://localhost:port",
      "udp://localhost:0",
    ])
      assert.throws(() => syslogPlace(wrong), { code: "CONFIG_INVALID" }, wrong);
  });

  it("goes to a Unix socket, with priority and program, and reports the number of lost lines", async () => {
    const path = join(folder, "log.sock");
    const log = await Syslog.open({ kind: "unix", path, facility: 3 }, "saltworks-master");
    log.write(line(30, "nobody listens yet"));
    const datagrams = await Datagrams.bind(path);
    try {
      log.write(line(50, "broken"));
      assert.match(await datagrams.next(), new RegExp(`^<28>${clock} saltworks-master\\[${process.pid}\\]: 1 lines`));
      assert.match(
        await datagrams.next(),
        new RegExp(`^<27>${clock} saltworks-master\\[${process.pid}\\]: \\{"level":50`),
      );
      log.write(line(30, "x".repeat(100_000)));
      assert.equal((await datagrams.next()).length, syslogLineBytesMax);
    } finally {
      datagrams.close();
    }
  });

  it("goes to a host by UDP", async () => {
    const receiver = createSocket("udp4").bind(0, "127.0.0.1");
    try {
      await once(receiver, "listening");
      const { port } = receiver.address();
      const log = await Syslog.open({ kind: "udp", host: "127.0.0.1", port, facility: 3 }, "saltworks-minion");
      const received = once(receiver, "message");
      log.write(line(40, "mind this"));
      const [message] = (await received) as [Buffer];
      assert.match(String(message), new RegExp(`^<28>${clock} ${hostname()} saltworks-minion\\[\\d+\\]: .*mind this`));
    } finally {
      receiver.close();
    }
  });

  it("goes on by UDP when no program received for a while, and reports the number of lost lines", {
    timeout: 30_000,
  }, async () => {
    const away = createSocket("udp4").bind(0, "127.0.0.1");
    await once(away, "listening");
    const { port } = away.address();
    away.close();
    await once(away, "close");
    const log = await Syslog.open({ kind: "udp", host: "127.0.0.1", port, facility: 3 }, "saltworks-minion");
    for (const number of [1, 2, 3]) log.write(line(30, `away ${number}`));
    // Turns of the event loop in which the lines are sent and refused.
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const receiver = createSocket("udp4").bind(port, "127.0.0.1");
    try {
      await once(receiver, "listening");
      let received = 0;
      let reported = 0;
      receiver.on("message", (message) => {
        const [, lines] = /: (\d+) lines were lost$/.exec(String(message)) ?? [];
        if (lines === undefined) received += 1;
        else reported += Number(lines);
      });
      // Repeats, because nothing tells the log that a program receives again.
      let written = 3;
      while (received + reported < written) {
        log.write(line(30, "here again"));
        written += 1;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      assert.equal(reported, 3);
      assert.equal(received + reported, written);
    } finally {
      receiver.close();
    }
  });

  it("goes to a host by UDP although its first socket could not be opened", { timeout: 30_000 }, async () => {
    const receiver = createSocket("udp4").bind(0, "127.0.0.1");
    await once(receiver, "listening");
    const { port } = receiver.address();
    const bind = mock.method(UdpSocket.prototype, "bind", function fail(this: UdpSocket) {
      process.nextTick(() => this.emit("error", new Error("too many open files")));
      return this;
    });
    try {
      const log = await Syslog.open({ kind: "udp", host: "127.0.0.1", port, facility: 3 }, "saltworks-minion");
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(bind.mock.callCount(), 1);
      bind.mock.restore();
      const received = once(receiver, "message");
      log.write(line(30, "first"));
      assert.match(String((await received)[0]), /first/);
    } finally {
      bind.mock.restore();
      receiver.close();
    }
  });

  /** A log host by UDP whose name means 127.0.0.2 from `move` on, where the test receives. `untilMoved` writes until a line arrives there. */
  async function movingHost() {
    const [former, moved] = [createSocket("udp4").bind(0, "127.0.0.1"), createSocket("udp4")];
    await once(former, "listening");
    const { port } = former.address();
    moved.bind(port, "127.0.0.2");
    await once(moved, "listening");
    let address = "127.0.0.1";
    const lookup = mock.method(dns, "lookup", (...given: unknown[]) => {
      const callback = given.at(-1) as (error: null, address: string, family: number) => void;
      process.nextTick(callback, null, given[0] === "loghost.test" ? address : String(given[0]), 4);
    });
    const log = await Syslog.open({ kind: "udp", host: "loghost.test", port, facility: 3 }, "saltworks-minion");
    return {
      former,
      log,
      lookup,
      move: () => {
        address = "127.0.0.2";
      },
      untilMoved: async () => {
        const received = once(moved, "message");
        // Repeats, because nothing tells the log that the name means another address.
        const repeat = setInterval(() => log.write(line(30, "moved")), 20);
        try {
          assert.match(String((await received)[0]), /moved|lines were lost/);
        } finally {
          clearInterval(repeat);
        }
      },
      close: () => {
        lookup.mock.restore();
        moved.close();
      },
    };
  }

  it("goes by UDP to the new address of a host, after the former one refused a line", { timeout: 30_000 }, async () => {
    const host = await movingHost();
    try {
      host.log.write(line(30, "here"));
      await once(host.former, "message");
      host.move();
      const closed = once(host.former, "close");
      host.former.close();
      await closed;
      await host.untilMoved();
    } finally {
      host.close();
    }
  });

  it("goes by UDP to the new address of a host within a minute, though the former one still receives", {
    timeout: 30_000,
  }, async () => {
    const host = await movingHost();
    let passedMs = 0;
    const now = performance.now.bind(performance);
    const clock = mock.method(performance, "now", () => now() + passedMs);
    try {
      host.log.write(line(30, "here"));
      await once(host.former, "message");
      host.move();
      const { length: lookups } = host.lookup.mock.calls;
      passedMs = syslogLookupMs - 10_000;
      host.log.write(line(30, "too soon"));
      await once(host.former, "message");
      assert.equal(host.lookup.mock.callCount(), lookups);
      passedMs = syslogLookupMs;
      await host.untilMoved();
    } finally {
      clock.mock.restore();
      host.former.close();
      host.close();
    }
  });

  it("goes to a host by TCP, line by line, and finds it again after it was lost", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    try {
      const connected = once(server, "connection");
      const log = await Syslog.open({ kind: "tcp", host: "127.0.0.1", port, facility: 1 }, "saltworks-master");
      log.write(line(30, "first"));
      const [first] = (await connected) as [Socket];
      assert.match(String((await once(first, "data"))[0]), /^<14>.*first.*\n$/);
      const again = once(server, "connection");
      first.destroy();
      const [second] = (await again) as [Socket];
      log.write(line(30, "second"));
      assert.match(String((await once(second, "data"))[0]), /second/);
      second.destroy();
    } finally {
      server.close();
    }
  });
});

describe("a log file", () => {
  it("is followed when it is moved away, by a signal at once and without one within seconds", async () => {
    const { mkdtemp, readFile, rename, rm } = await import("node:fs/promises");
    const directory = await mkdtemp(join(tmpdir(), "sw-"));
    const path = join(directory, "master");
    try {
      const log = new LogFile(path, assert.fail);
      log.write("one\n");
      await rename(path, `${path}.1`);
      assert.equal(log.reopen(), undefined);
      log.write("two\n");
      await rename(path, `${path}.2`);
      // Repeats without a bound, because nothing tells the log that its file was moved.
      let written = "";
      for (let number = 0; !written.includes("later"); number += 1) {
        log.write(`later ${number}\n`);
        await new Promise((resolve) => setTimeout(resolve, 50));
        written = await readFile(path, "utf8").catch(() => "");
      }
      assert.equal(await readFile(`${path}.1`, "utf8"), "one\n");
      assert.match(await readFile(`${path}.2`, "utf8"), /^two\n/);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
