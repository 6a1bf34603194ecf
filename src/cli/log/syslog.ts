/**
 * Sends a daemon's lines to the system's log: a Unix socket, or a host by UDP or TCP. Sources: RFC 3164 and RFC 6587 section 3.4.2 for the
 * form of a line, Salt's `log_file` for the place: `file:///dev/log`, `udp://HOST:PORT`, `tcp://HOST:PORT`, each followed by `/LOG_FACILITY`.
 */
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { createConnection, isIP, type Socket } from "node:net";
import { hostname } from "node:os";
import { SaltworksError } from "../../errors.ts";
import { syslogLineBytesMax, syslogLookupMs, syslogReconnectMs, syslogWaitingBytesMax } from "../../limits.ts";

/** Facility numbers of RFC 3164 by Salt's names. */
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
/** RFC 3164 severities by pino's level: trace, debug, info, warn, error, fatal. */
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
  if (port === 0) throw new SaltworksError("CONFIG_INVALID", `log_file: ${logFile}: 0 is not a port`);
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

/** Sends one line a call. Counts lines that cannot be sent, and reports their number before the next line that can be sent. */
export class Syslog {
  readonly #place: SyslogPlace;
  readonly #tag: string;
  #transmit: Transmit = () => false;
  #lostLines = 0;

  private constructor(place: SyslogPlace, tag: string) {
    this.#place = place;
    this.#tag = tag;
  }

  /** `tag` names the program, as in `saltworks-master`. */
  static async open(place: SyslogPlace, tag: string): Promise<Syslog> {
    const log = new Syslog(place, tag);
    if (place.kind === "unix") log.#transmit = await toUnix(place.path);
    else if (place.kind === "tcp") log.#transmit = new TcpLog(place).send;
    else
      log.#transmit = new UdpLog(place, (lines) => {
        log.#lostLines += lines;
      }).send;
    return log;
  }

  write(line: string): void {
    const level = /^\{"level":(\d+)/.exec(line)?.[1] ?? "";
    const severity = severities[level] ?? plainSeverity;
    const lines = this.#lostLines;
    this.#lostLines = 0;
    if (lines > 0 && !this.#send(severities[40] ?? plainSeverity, `${lines} lines were lost`, lines))
      this.#lostLines += lines;
    if (!this.#send(severity, line.trimEnd(), 1)) this.#lostLines += 1;
  }

  #send(severity: number, text: string, lines: number): boolean {
    const priority = this.#place.facility * 8 + severity;
    // Only a remote logger needs the host's name.
    const host = this.#place.kind === "unix" ? "" : `${hostname()} `;
    const head = `<${priority}>${timestamp(new Date())} ${host}${this.#tag}[${process.pid}]: `;
    return this.#transmit(Buffer.from(head + text).subarray(0, syslogLineBytesMax), lines);
  }
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** RFC 3164 section 4.1.2: local time, the day padded with a blank. */
function timestamp(date: Date): string {
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => `${part}`.padStart(2, "0"));
  return `${months[date.getMonth()]} ${`${date.getDate()}`.padStart(2, " ")} ${clock.join(":")}`;
}

async function toUnix(path: string): Promise<Transmit> {
  const { UnixDatagrams } = await import("../host/system-calls.ts");
  const datagrams = new UnixDatagrams(path);
  return (message) => datagrams.send(message) === undefined;
}

type Remote = { readonly host: string; readonly port: number };

/** `lines`: how many lines are lost with the message: 1, or the lost lines that it reports. */
type Transmit = (message: Buffer, lines: number) => boolean;
type Waiting = { readonly message: Buffer; readonly lines: number };

/**
 * Sends each line as a datagram. A connected socket is told when no program receives at the port, and looks the host's name up only once. So another
 * socket takes its place after a failed message and each `syslogLookupMs`. If a socket cannot be connected, opens another one, with growing pauses.
 */
class UdpLog {
  readonly #remote: Remote;
  readonly #onLost: (lines: number) => void;
  readonly #waiting: Waiting[] = [];
  #socket: UdpSocket | undefined;
  #waitMs: number = syslogReconnectMs.least;
  #connectedAtMs = 0;
  /** When the next message opens another socket. Never for a host without a name, and not while a socket is being opened. */
  #lookAtMs = Number.POSITIVE_INFINITY;
  /** Lines of the last message that was sent and not refused. */
  #sentLines = 0;

  /** @param onLost gets the lines that `send` took and that are lost nevertheless */
  constructor(remote: Remote, onLost: (lines: number) => void) {
    this.#remote = remote;
    this.#onLost = onLost;
    this.#open();
  }

  readonly send: Transmit = (message, lines) => {
    if (performance.now() >= this.#lookAtMs) {
      this.#lookAtMs = Number.POSITIVE_INFINITY;
      this.#open();
    }
    if (this.#socket !== undefined) this.#pass(this.#socket, { message, lines });
    else if (this.#waiting.length < syslogWaitingBytesMax / syslogLineBytesMax) this.#waiting.push({ message, lines });
    else return false;
    return true;
  };

  #open(): void {
    const { host, port } = this.#remote;
    const socket = createSocket(host.includes(":") ? "udp6" : "udp4").unref();
    const onFailure = (): void => {
      socket.on("error", () => undefined).close();
      setTimeout(() => this.#open(), this.#waitMs * (1 + Math.random())).unref();
      this.#waitMs = Math.min(this.#waitMs * 2, syslogReconnectMs.most);
    };
    socket.once("error", onFailure);
    socket.once("connect", () => {
      socket.off("error", onFailure).on("error", () => this.#loseSent());
      this.#socket?.close();
      this.#socket = socket;
      this.#waitMs = syslogReconnectMs.least;
      this.#connectedAtMs = performance.now();
      if (isIP(host) === 0) this.#lookAtMs = this.#connectedAtMs + syslogLookupMs;
      for (const waiting of this.#waiting.splice(0)) this.#pass(socket, waiting);
    });
    socket.connect(port, host);
  }

  #pass(socket: UdpSocket, { message, lines }: Waiting): void {
    socket.send(message, (error: NodeJS.ErrnoException | null) => {
      if (error === null) {
        this.#sentLines = lines;
        return;
      }
      // The system reports the refusal of the message before, and has not sent this one.
      if (error.code === "ECONNREFUSED") this.#loseSent();
      this.#onLost(lines);
      this.#lookSoon();
    });
  }

  #loseSent(): void {
    this.#onLost(this.#sentLines);
    this.#sentLines = 0;
    this.#lookSoon();
  }

  #lookSoon(): void {
    if (Number.isFinite(this.#lookAtMs)) this.#lookAtMs = this.#connectedAtMs + syslogReconnectMs.least;
  }
}

/** Sends each line with a line feed. Connects again after a failure, with growing pauses. */
class TcpLog {
  readonly #remote: Remote;
  #socket: Socket | undefined;
  #waitMs: number = syslogReconnectMs.least;

  constructor(remote: Remote) {
    this.#remote = remote;
    this.#connect();
  }

  readonly send: Transmit = (message) => {
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
