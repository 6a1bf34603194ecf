/**
 * Sends a daemon's lines to the system's log: a Unix socket, or a host by UDP or TCP. Sources: RFC 3164 and RFC 6587 section 3.4.2 for the
 * form of a line, Salt's `log_file` for the place: `file:///dev/log`, `udp://HOST:PORT`, `tcp://HOST:PORT`, each followed by `/LOG_FACILITY`.
 */
import { createSocket } from "node:dgram";
import { createConnection, type Socket } from "node:net";
import { hostname } from "node:os";
import { SaltworksError } from "../../errors.ts";
import { syslogLineBytesMax, syslogReconnectMs, syslogWaitingBytesMax } from "../../limits.ts";

/** Numbers of RFC 3164 by Salt's names. */
const facilities: Readonly<Record<string, number>> = {
  LOG_KERN: 0,
  LOG_USER: 1,
  LOG_MAIL: 2,
  LOG_DAEMON: 3,
  LOG_AUTH: 4,
  LOG_SYSLOG: 5,
  LOG_LPR: 6,
  LOG_NEWS: 7,
  LOG_UUCP: 8,
  LOG_CRON: 9,
  LOG_AUTHPRIV: 10,
  LOG_FTP: 11,
  LOG_LOCAL0: 16,
  LOG_LOCAL1: 17,
  LOG_LOCAL2: 18,
  LOG_LOCAL3: 19,
  LOG_LOCAL4: 20,
  LOG_LOCAL5: 21,
  LOG_LOCAL6: 22,
  LOG_LOCAL7: 23,
};
const standardPort = 514;
/** Severities by a tenth of pino's level: trace and debug, info, warn, error, fatal. */
const severities: Readonly<Record<string, number>> = { 10: 7, 20: 7, 30: 6, 40: 4, 50: 3, 60: 2 };
const plainSeverity = 6;

export type SyslogPlace = { readonly facility: number } & (
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "udp" | "tcp"; readonly host: string; readonly port: number }
);

/** @returns undefined for a path @throws SaltworksError CONFIG_INVALID for an unknown facility */
export function syslogPlace(logFile: string): SyslogPlace | undefined {
  const scheme = /^(file|udp|tcp):\/\//.exec(logFile)?.[1];
  if (scheme === undefined) return undefined;
  const url = parsed(logFile);
  const last = url.pathname.split("/").at(-1) ?? "";
  const isFacility = /^log_/i.test(last);
  if (scheme === "file") {
    const path = decodeURIComponent(isFacility ? url.pathname.slice(0, -last.length - 1) : url.pathname);
    return { kind: "unix", path, facility: facilityOf(isFacility ? last : "LOG_USER", logFile) };
  }
  const port = url.port === "" ? standardPort : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return { kind: scheme === "udp" ? "udp" : "tcp", host, port, facility: facilityOf(last || "LOG_USER", logFile) };
}

function parsed(logFile: string): URL {
  try {
    // Read as a URL of a scheme with hosts and ports.
    return new URL(logFile.replace(/^(udp|tcp):/, "ftp:"));
  } catch {
    throw new SaltworksError("CONFIG_INVALID", `log_file: ${logFile} names no host or port`);
  }
}

function facilityOf(name: string, logFile: string): number {
  const facility = facilities[name.toUpperCase()];
  if (facility === undefined)
    throw new SaltworksError("CONFIG_INVALID", `log_file: ${logFile}: the syslog facility '${name}' is not known`);
  return facility;
}

/** Takes one line a call. Counts lines that cannot be sent, and reports their number before the next line that can. */
export class Syslog {
  readonly #place: SyslogPlace;
  readonly #tag: string;
  readonly #transmit: (message: Buffer) => boolean;
  #lostLines = 0;

  private constructor(place: SyslogPlace, tag: string, transmit: (message: Buffer) => boolean) {
    this.#place = place;
    this.#tag = tag;
    this.#transmit = transmit;
  }

  /** `tag` names the program, as in `saltworks-master`. */
  static async open(place: SyslogPlace, tag: string): Promise<Syslog> {
    return new Syslog(place, tag, place.kind === "unix" ? await toUnix(place.path) : toHost(place));
  }

  write(line: string): void {
    const level = /^\{"level":(\d+)/.exec(line)?.[1] ?? "";
    const severity = severities[level] ?? plainSeverity;
    if (this.#lostLines > 0 && this.#send(severities[40] ?? plainSeverity, `${this.#lostLines} lines were lost`))
      this.#lostLines = 0;
    if (!this.#send(severity, line.trimEnd())) this.#lostLines += 1;
  }

  #send(severity: number, text: string): boolean {
    const priority = this.#place.facility * 8 + severity;
    // Only a remote logger needs the host's name.
    const host = this.#place.kind === "unix" ? "" : `${hostname()} `;
    const head = `<${priority}>${timestamp(new Date())} ${host}${this.#tag}[${process.pid}]: `;
    return this.#transmit(Buffer.from(head + text).subarray(0, syslogLineBytesMax));
  }
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** RFC 3164 section 4.1.2: local time, the day padded with a blank. */
function timestamp(date: Date): string {
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => `${part}`.padStart(2, "0"));
  return `${months[date.getMonth()]} ${`${date.getDate()}`.padStart(2, " ")} ${clock.join(":")}`;
}

async function toUnix(path: string): Promise<(message: Buffer) => boolean> {
  const { UnixDatagrams } = await import("../host/system-calls.ts");
  const datagrams = new UnixDatagrams(path);
  return (message) => datagrams.send(message) === undefined;
}

type Remote = { readonly kind: "unix" | "udp" | "tcp"; readonly host: string; readonly port: number };

function toHost(place: Remote): (message: Buffer) => boolean {
  return place.kind === "udp" ? byUdp(place) : new TcpLog(place).send;
}

function byUdp({ host, port }: Remote): (message: Buffer) => boolean {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4").unref();
  let isUsable = false;
  // A connected socket looks the name up only once.
  const connect = (): void => {
    try {
      socket.connect(port, host);
    } catch {
      // The line has been sent already.
      isUsable = false;
    }
  };
  socket.on("connect", () => {
    isUsable = true;
  });
  socket.on("error", () => {
    if (isUsable) return;
    setTimeout(connect, syslogReconnectMs.least).unref();
  });
  connect();
  const waiting: Buffer[] = [];
  socket.once("connect", () => {
    for (const message of waiting.splice(0)) socket.send(message);
  });
  return (message) => {
    if (isUsable) socket.send(message, () => undefined);
    else if (waiting.length < syslogWaitingBytesMax / syslogLineBytesMax) waiting.push(message);
    else return false;
    return true;
  };
}

/** Each line ends in a line feed. A failed connection is tried again after growing pauses. */
class TcpLog {
  readonly #remote: Remote;
  #socket: Socket | undefined;
  #waitMs: number = syslogReconnectMs.least;

  constructor(remote: Remote) {
    this.#remote = remote;
    this.#connect();
  }

  readonly send = (message: Buffer): boolean => {
    const socket = this.#socket;
    if (socket === undefined || socket.writableLength > syslogWaitingBytesMax) return false;
    socket.write(Buffer.concat([message, Buffer.from("\n")]));
    return true;
  };

  #connect(): void {
    const socket = createConnection(this.#remote).unref();
    this.#socket = socket;
    socket.on("connect", () => {
      this.#waitMs = syslogReconnectMs.least;
    });
    // A `close` event follows.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.#socket = undefined;
      const waitMs = this.#waitMs * (1 + Math.random());
      this.#waitMs = Math.min(this.#waitMs * 2, syslogReconnectMs.most);
      setTimeout(() => this.#connect(), waitMs).unref();
    });
    socket.resume();
  }
}
