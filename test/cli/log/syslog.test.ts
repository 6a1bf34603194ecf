import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { LogFile } from "../../../src/cli/log/file.ts";
import { Syslog, syslogPlace } from "../../../src/cli/log/syslog.ts";
import { syslogLineBytesMax } from "../../../src/limits.ts";
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
    for (const wrong of ["udp://localhost/LOG_NONE", "tcp://localhost/daemon", "udp://localhost:port"])
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
      // As long as it takes: nothing tells the file that it was moved.
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
