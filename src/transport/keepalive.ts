/**
 * TCP keepalive for all connections of a listening socket. Node.js lets us set the idle time only, and probes ten times, a second apart. On Linux
 * connections inherit the settings of the listening socket. Sources: tcp(7), socket(7).
 */
import type { Server } from "node:net";
import koffi from "koffi";

/** -1 keeps the system's value. */
export type Keepalive = {
  readonly isOn: boolean;
  readonly idleSeconds: number;
  readonly count: number;
  readonly intervalSeconds: number;
  /** How long sent bytes may stay unacknowledged until the connection fails with ETIMEDOUT, also because the other end reads nothing. Default: the system's value, some 15 minutes. */
  readonly unacknowledgedMs?: number;
};

/** Linux's constants on the platforms of Node.js. */
const socketLevel = 1;
const keepaliveOption = 9;
const tcpLevel = 6;
const idleOption = 4;
const intervalOption = 5;
const countOption = 6;
const unacknowledgedOption = 18;

/** Node.js has no documented way to a server's descriptor. */
type WithDescriptor = { _handle?: { fd?: number } | null };

const setsockopt = koffi
  .load(null)
  .func("int setsockopt(int fd, int level, int name, const void *value, unsigned int bytes)");

/** @returns false if the server has no descriptor or the system refuses; then Node.js must set each connection */
export function setKeepalive(server: Server, keepalive: Keepalive): boolean {
  const fd = (server as unknown as WithDescriptor)._handle?.fd;
  if (process.platform !== "linux" || typeof fd !== "number" || fd < 0) return false;
  const set = (level: number, name: number, value: number): boolean => {
    const bytes = Buffer.from(Int32Array.of(value).buffer);
    return setsockopt(fd, level, name, bytes, bytes.length) === 0;
  };
  const times = [
    [idleOption, keepalive.idleSeconds],
    [intervalOption, keepalive.intervalSeconds],
    [countOption, keepalive.count],
    [unacknowledgedOption, keepalive.unacknowledgedMs ?? 0],
  ] as const;
  const hasTimes = times.every(([name, value]) => value <= 0 || set(tcpLevel, name, Math.round(value)));
  return hasTimes && set(socketLevel, keepaliveOption, keepalive.isOn ? 1 : 0);
}
