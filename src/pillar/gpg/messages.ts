/**
 * Decrypts OpenPGP messages with the installed `gpg`, one program per message, for the renderer `gpg`. Source: Salt 3007's renderer of that
 * name, observed. It waits for the program, because rendering is synchronous and has a thread of its own.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { SaltworksError } from "../../errors.ts";
import { gpgCacheBytesMax, gpgMessageBytesMax, gpgOutputBytesMax, gpgTimeoutMs } from "../../limits.ts";
import { endGroup } from "../external/programs/guard.ts";
import type { GpgSettings } from "../input/decryption.ts";

/** Status words of gpg that say why it failed. They hold ids of keys and no values. */
const reasons = /^\[GNUPG:\] ((?:NO_SECKEY|NODATA|BADARMOR|BADMDC|DECRYPTION_FAILED)(?: [0-9A-Fa-f]{1,40})?)\s*$/gm;
const failed = /^\[GNUPG:\] DECRYPTION_FAILED\s*$/m;

type Kept = { readonly plain: Buffer; readonly untilMs: number };

/** `keyDirectory`: gpg's home directory, with the secret keys. */
export class GpgMessages {
  readonly settings: GpgSettings;
  readonly #program: string;
  readonly #timeoutMs: number;
  /** By the hash of the message. */
  readonly #kept = new Map<string, Kept>();
  #keptBytes = 0;

  constructor(settings: GpgSettings, program = "gpg", timeoutMs = gpgTimeoutMs) {
    this.settings = settings;
    this.#program = program;
    this.#timeoutMs = timeoutMs;
  }

  /** @throws SaltworksError PILLAR_FAILED without the message or its content */
  decrypt(message: string): Buffer {
    const { keptMs } = this.settings;
    if (keptMs <= 0) return this.#run(message);
    const key = createHash("sha256").update(message).digest("base64");
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.untilMs > performance.now()) return kept.plain;
    this.#forget(key);
    const plain = this.#run(message);
    this.#keep(key, { plain, untilMs: performance.now() + keptMs });
    return plain;
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
    this.#keptBytes += kept.plain.length;
    while (this.#keptBytes > gpgCacheBytesMax) {
      const [oldest] = this.#kept.keys();
      if (oldest === undefined) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#keptBytes -= this.#kept.get(key)?.plain.length ?? 0;
    this.#kept.delete(key);
  }

  #run(message: string): Buffer {
    if (message.length > gpgMessageBytesMax) throw gpgFault(`a message is larger than ${gpgMessageBytesMax} bytes`);
    const ended = spawnSync(
      this.#program,
      ["--homedir", this.settings.keyDirectory, "--batch", "--no-tty", "--status-fd", "2", "--decrypt"],
      {
        input: message,
        timeout: this.#timeoutMs,
        killSignal: "SIGKILL",
        maxBuffer: gpgOutputBytesMax,
        // Leads a process group, so that a child of gpg does not outlive the deadline.
        ...{ detached: true },
      },
    );
    if (ended.error !== undefined) throw this.#unfinished(ended.error, ended.pid);
    const status = ended.stderr.toString("utf8");
    if (ended.stdout.length > 0 && !failed.test(status)) return ended.stdout;
    const told = Array.from(status.matchAll(reasons), ([, reason = ""]) => reason).join(", ");
    throw gpgFault(`gpg could not decrypt a message: ${told || `it ended with ${ended.status ?? ended.signal}`}`);
  }

  #unfinished({ code }: NodeJS.ErrnoException, pid: number): SaltworksError {
    if (code === "ENOENT") return gpgFault("GPG unavailable: the program gpg is not installed");
    if (pid > 0) endGroup(pid);
    if (code === "ETIMEDOUT") return gpgFault(`gpg took longer than ${this.#timeoutMs / 1_000} seconds`);
    if (code === "ENOBUFS") return gpgFault(`gpg wrote more than ${gpgOutputBytesMax} bytes`);
    return gpgFault(`gpg failed: ${code ?? "an error"}`);
  }
}

function gpgFault(message: string): SaltworksError {
  return new SaltworksError("PILLAR_FAILED", message, { kind: "gpg" });
}
