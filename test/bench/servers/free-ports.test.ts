/** Ports that are free: none that another process of this user has taken and does not listen on yet. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { freePorts, keepPort } from "../../../bench/free-ports.ts";

const compiled = fileURLToPath(new URL("../../../bench/free-ports.js", import.meta.url));

it("keeps ports of a process from others until it ends, also by KILL", async () => {
  const program = `const { freePorts } = await import(${JSON.stringify(compiled)});
    console.log(JSON.stringify(await freePorts(3))); setInterval(() => undefined, 1_000);`;
  const other = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = (await once(createInterface({ input: other.stdout }), "line")) as [string];
    const ports = JSON.parse(line) as number[];
    assert.equal(new Set(ports).size, 3);
    for (const port of ports) assert.equal(keepPort(port), false, `${port} is the other's`);
    other.kill("SIGKILL");
    await once(other, "exit");
    for (const port of ports) assert.equal(keepPort(port), true, `${port} is left`);
  } finally {
    other.kill("SIGKILL");
  }
  const own = await freePorts(2);
  for (const port of own) assert.equal(keepPort(port), true);
});
