/** Runs one flood against a port until its standard input ends: a separate program of low priority, so that it does not slow the master. */
import { connect, type Socket } from "node:net";
import { constants, setPriority } from "node:os";
import { floods } from "./floods.ts";
import { publishFloods } from "./publish-floods.ts";
import { largeFloods, strangerFloods } from "./stranger-floods.ts";

const [kind = "", name = "", port = "0"] = process.argv.slice(2);
const tables = { requests: floods, publish: publishFloods, strangers: strangerFloods, large: largeFloods };
const flood = tables[kind as keyof typeof tables][name];
if (flood === undefined) throw new Error(`no flood "${name}"`);
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
// Made before the measurement.
flood.bytes(0);

const tickMs = 10;
/** Opens a connection again after the master has closed it. */
const reconnectMs = 50;
const sent = { bytes: 0, connects: 0, closed: 0 };
type Line = { socket: Socket; rest: Buffer; isDone: boolean };
let isEnding = false;

function open(line: Partial<Line>): Line {
  const from = flood?.from === undefined ? {} : { localAddress: flood.from };
  const socket = connect({ host: "127.0.0.1", port: Number(port), noDelay: true, ...from });
  sent.connects += 1;
  socket.on("error", () => {
    // Errors are ignored, because the close event follows.
  });
  socket.once("close", () => {
    sent.closed += 1;
    if (!isEnding) setTimeout(() => open(opened), reconnectMs);
  });
  if (flood?.isDeaf !== true) socket.resume();
  socket.write(flood?.greeting ?? "");
  const opened = Object.assign(line, { socket, rest: Buffer.alloc(0), isDone: false });
  return opened;
}

/** Reported once, when all connections are open and the bytes of a tenth of a second are sent. */
let isFlowing = false;

function noteFlowing(): void {
  if (isFlowing || lines.some(({ socket }) => socket.connecting)) return;
  if (sent.bytes < (flood?.bytesPerSecond ?? 0) / 10) return;
  isFlowing = true;
  process.stdout.write("flowing\n");
}

const lines = Array.from({ length: flood.connections }, () => open({}));
let allowance = 0;
let round = 0;
let next = 0;
setInterval(() => {
  noteFlowing();
  allowance = Math.min(flood.bytesPerSecond / 10, allowance + (flood.bytesPerSecond * tickMs) / 1_000);
  for (let tries = 0; tries < lines.length && allowance > 0; tries += 1) {
    next = (next + 1) % lines.length;
    const line = lines[next];
    if (line === undefined || line.isDone || line.socket.connecting || line.socket.destroyed) continue;
    if (line.socket.writableLength > 0) continue;
    if (line.rest.length === 0) {
      line.rest = flood.bytes(round);
      round += 1;
    }
    const part = line.rest.subarray(0, Math.ceil(allowance));
    line.socket.write(part);
    line.rest = line.rest.subarray(part.length);
    if (line.rest.length === 0) {
      line.isDone = flood.isOnce === true || flood.isLeft === true;
      if (flood.isLeft === true) line.socket.destroySoon();
    }
    allowance -= part.length;
    sent.bytes += part.length;
  }
}, tickMs);

process.stdin.resume();
process.stdin.once("end", () => {
  isEnding = true;
  process.stdout.write(`${JSON.stringify(sent)}\n`, () => process.exit(0));
});
