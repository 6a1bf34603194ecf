import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { mustPass, passTo, sampleReturn } from "./passing.ts";

/** A log daemon: prints each datagram of a unix socket as a line of JSON, because Node.js cannot open one. */
const daemon = `
import json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print(json.dumps("ready"), flush=True)
while True: print(json.dumps(s.recv(1 << 20).decode()), flush=True)
`;

describe("returner syslog", { timeout: 60_000 }, () => {
  let directory = "";
  let stop = () => undefined as unknown;
  let next = async (): Promise<string> => "";
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), "sw-syslog-"));
    const child = spawn("python3", ["-c", daemon, join(directory, "log")], { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    next = async () => JSON.parse((await lines.next()).value as string);
    assert.equal(await next(), "ready");
    stop = async () => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    };
  });
  after(async () => {
    await stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it("sends the whole return with level, facility, tag and process id", async () => {
    const options = {
      "syslog.level": "LOG_ERR",
      "syslog.facility": "LOG_LOCAL3",
      "syslog.tag": "salt-job",
      "syslog.options": ["LOG_PID"],
      "syslog.socket": join(directory, "log"),
    };
    const long = "é".repeat(20_000);
    await mustPass(["syslog"], options, sampleReturn({ return: long }));
    const line = await next();
    // 19 * 8 + 3: facility local3, level error, as in RFC 3164.
    const [head = "", json] = line.split(/(?<=\]): /);
    assert.match(head, new RegExp(`^<155>.* salt-job\\[${process.pid}\\]$`));
    assert.equal(JSON.parse(json ?? "").return, long);
  });

  it("names a wrong setting, and says that the socket is not there", async () => {
    const wrong = await passTo(["syslog"], { "syslog.level": "LOG_LOUD" });
    assert.equal(wrong.failures.get("syslog"), "LOG_LOUD is not a valid syslog level");
    const absent = await passTo(["syslog"], { "syslog.socket": join(directory, "nothing") });
    assert.match(absent.failures.get("syslog") ?? "", /^logger: .*No such file/);
  });
});
