/**
 * TCP keepalive for all connections of a listening socket. Node.js sets idle time alone and probes ten times, a second apart; on Linux
 * what the listening socket has is every connection's from its first moment on. Sources: tcp(7), socket(7).
 */
import type { Server } from "node:net";
import koffi from "koffi";

/** -1 leaves what the system has. */
export type Keepalive = {
  readonly isOn: boolean;
  readonly idleSeconds: number;
  readonly count: number;
  readonly intervalSeconds: number;
};

/** Values of Linux on the machines that Node.js is built for. */
const socketLevel = 1;
const keepaliveOption = 9;
const tcpLevel = 6;
const idleOption = 4;
const intervalOption = 5;
const countOption = 6;

/** Descriptors have no documented way out of a server. */
type WithDescriptor = { _handle?: { fd?: number } | null };

const setsockopt = koffi
  .load(null)
  .func("int setsockopt(int fd, int level, int name, const void *value, unsigned int bytes)");

/** @returns false where the server has no descriptor or the system refuses: then each connection has to be set by Node.js */
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
  ] as const;
  const hasTimes = times.every(([name, value]) => value <= 0 || set(tcpLevel, name, Math.round(value)));
  return hasTimes && set(socketLevel, keepaliveOption, keepalive.isOn ? 1 : 0);
}
