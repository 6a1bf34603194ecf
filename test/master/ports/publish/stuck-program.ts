/** A program whose publish thread hangs in a system call, and that ends as a master does. `leave.test.ts` checks that it ends. */
import pino from "pino";
import { PublishFront } from "../../../../src/master/ports/publish-front.ts";
import { leaveProcess } from "../../../../src/master/shutdown/leave.ts";

const front = await PublishFront.bind({
  host: "127.0.0.1",
  port: 0,
  backlog: 100,
  keepalive: { isOn: false, idleSeconds: -1, count: -1, intervalSeconds: -1 },
  addressConnectionsMax: 0,
  proxies: [],
  highWaterMark: 1_000,
  isFiltering: false,
  heap: { youngMb: 12, oldMb: 512 },
  logger: pino({ level: "silent" }),
  filename: new URL("./failing-thread.js", import.meta.url),
  settleMs: 0,
  watch: { hangMs: 2_000, endMs: 500 },
  onFault: () => void end(),
});
await front.send(Buffer.from("stick for ever"), undefined);

async function end(): Promise<void> {
  await front.close();
  process.stdout.write(`stuck: ${front.isStuck}\n`);
  leaveProcess(1, front.isStuck);
}
