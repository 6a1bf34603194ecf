/**
 * Linux system calls that Node.js lacks, through koffi: datagrams to Unix sockets, listening sockets for another part of the
 * program, limits. Sources: unix(7), ip(7), ipv6(7), setrlimit(2), prctl(2). Loaded on demand, because koffi takes time to load.
 */
import { getSystemErrorName } from "node:util";
import koffi from "koffi";
import { SaltworksError } from "../../errors.ts";
import type { IpAddress } from "../../python/ipaddress.ts";

/** Linux constants, the same on all architectures that Node.js supports. */
const unixFamily = 1;
const datagramSocket = 2;
const closeOnExec = 0o2_000_000;
const doNotWait = 0x40;
const noSignal = 0x4000;
const openFilesLimit = 7;
const setDumpable = 4;
const inet4Family = 2;
const inet6Family = 10;
const streamSocket = 1;
const socketLevel = 1;
const reuseAddress = 2;
/** Bytes of a path in the kernel's `struct sockaddr_un`. */
const unixPathBytesMax = 108;

const library = koffi.load(null);
const socket = library.func("int socket(int family, int type, int protocol)");
const sendto = library.func(
  "long sendto(int fd, const void *data, size_t bytes, int flags, const void *address, unsigned int addressBytes)",
);
const bind = library.func("int bind(int fd, const void *address, unsigned int addressBytes)");
const listen = library.func("int listen(int fd, int backlog)");
const setsockopt = library.func(
  "int setsockopt(int fd, int level, int option, const void *value, unsigned int valueBytes)",
);
const close = library.func("int close(int fd)");
const setrlimit = library.func("int setrlimit(int resource, const void *limits)");
const prctl = library.func("int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)");

/** The error code of the last call, such as `ENOENT`. */
function lastError(): string {
  return getSystemErrorName(-koffi.errno());
}

function checked(result: number, what: string): number {
  if (result < 0) throw new SaltworksError("SYSTEM_REFUSED", `${what}: ${lastError()}`);
  return result;
}

/** In the machine's byte order. */
const short = (value: number): Buffer => Buffer.from(Uint16Array.of(value).buffer);

/** `@name` is an abstract socket name. */
function unixAddress(path: string): Buffer {
  const name = path.startsWith("@") ? Buffer.from(`\0${path.slice(1)}`) : Buffer.from(`${path}\0`);
  if (name.length > unixPathBytesMax) throw new SaltworksError("CONFIG_INVALID", `${path} is too long for a socket`);
  return Buffer.concat([short(unixFamily), name]);
}

/** `scope`: the number of a link-local address's network interface. */
function inetAddress({ family, value }: IpAddress, port: number, scope: number): Buffer {
  const portBytes = Buffer.of(port >> 8, port & 0xff);
  const bytes = Buffer.from(value.toString(16).padStart(family === 4 ? 8 : 32, "0"), "hex");
  if (family === 4) return Buffer.concat([short(inet4Family), portBytes, bytes, Buffer.alloc(8)]);
  const scopeBytes = Buffer.from(Uint32Array.of(scope).buffer);
  return Buffer.concat([short(inet6Family), portBytes, Buffer.alloc(4), bytes, scopeBytes]);
}

/** @returns a listening socket that the caller closes, or the system's error code */
export function listenAt(address: IpAddress, port: number, backlog: number, scope: number): number | string {
  const family = address.family === 4 ? inet4Family : inet6Family;
  const descriptor = socket(family, streamSocket | closeOnExec, 0);
  if (descriptor < 0) return lastError();
  const place = inetAddress(address, port, scope);
  const yes = Buffer.from(Int32Array.of(1).buffer);
  if (
    setsockopt(descriptor, socketLevel, reuseAddress, yes, yes.length) === 0 &&
    bind(descriptor, place, place.length) === 0 &&
    listen(descriptor, backlog) === 0
  )
    return descriptor;
  const name = lastError();
  close(descriptor);
  return name;
}

/** Sends datagrams to a Unix socket without blocking. The reader may close its socket and open it again. */
export class UnixDatagrams {
  readonly #address: Buffer;
  readonly #descriptor: number;

  constructor(path: string) {
    this.#address = unixAddress(path);
    const kind = datagramSocket | closeOnExec;
    this.#descriptor = checked(socket(unixFamily, kind, 0), "a socket");
  }

  /** @returns the error code of a failure: `EAGAIN` if the reader's buffer is full, `ENOENT` or `ECONNREFUSED` without a reader */
  send(bytes: Uint8Array): string | undefined {
    const flags = doNotWait | noSignal;
    const sent = sendto(this.#descriptor, bytes, bytes.byteLength, flags, this.#address, this.#address.byteLength);
    return sent < 0 ? lastError() : undefined;
  }

  close(): void {
    close(this.#descriptor);
  }
}

/** Sets the soft and the hard limit of open files. @throws SaltworksError SYSTEM_REFUSED */
export function limitOpenFiles(count: number): void {
  const limits = Buffer.from(BigUint64Array.of(BigInt(count), BigInt(count)).buffer);
  checked(setrlimit(openFilesLimit, limits), `max_open_files: ${count}`);
}

/** Lets a process that has changed its user read its own files in /proc. Other processes of that user can read them then, too. */
export function allowOwnProcFiles(): void {
  checked(prctl(setDumpable, 1, 0, 0, 0), "PR_SET_DUMPABLE");
}
