/**
 * One Python process of the sidecar. It answers one request at a time, over two pipes, in frames of msgpack. It leads its own process group, which is
 * killed at a deadline, and it ends when its pipe closes: when this process ends.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex, Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { SaltworksError } from "../errors.ts";
import {
  sidecarAnswerBytesMax,
  sidecarComplaintMax,
  sidecarEventsMax,
  sidecarPrintedMax,
  sidecarStartTimeoutMs,
} from "../limits.ts";
import { DecodeBudget } from "../wire/decoder.ts";
import { decode, encode } from "../wire/msgpack.ts";
import type { Encodable, Value, ValueMap } from "../wire/values.ts";
import type { OnSidecarEvent, SidecarAnswer, SidecarRequest, SidecarSettings } from "./contract.ts";

const program = fileURLToPath(new URL("program/serve.py", import.meta.url));
/** Runs one engine of the configuration. */
export const engineProgram = new URL("program/engine.py", import.meta.url);
const headBytes = 4;

/** Variables of Node.js and of the service manager, which mean nothing to Python. */
const droppedVariables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "NODE_OPTIONS", "LISTEN_FDS", "LISTEN_PID"];

export function pythonEnvironment(
  environment: SidecarSettings["environment"],
): Readonly<Record<string, string | undefined>> {
  const kept = Object.entries(environment).filter(([name]) => !droppedVariables.includes(name));
  return { ...Object.fromEntries(kept), PYTHONUNBUFFERED: "1", PYTHONIOENCODING: "utf-8" };
}

type Waiting = {
  readonly serial: number;
  readonly timer: NodeJS.Timeout;
  readonly onEvent: OnSidecarEvent | undefined;
  readonly resolve: (answer: SidecarAnswer) => void;
  readonly reject: (error: Error) => void;
};

export class PythonProcess {
  /** What the process wrote to its standard error since the last look, for the log. */
  readonly #complaint: string[] = [];
  #complaintLength = 0;
  readonly #child: ChildProcess;
  readonly #requests: Writable;
  #waiting: Waiting | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #lastSerial = 0;
  #isEnded = false;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;

  private constructor(child: ChildProcess, requests: Writable, answers: Readable) {
    this.#child = child;
    this.#requests = requests;
    requests.on("error", () => undefined);
    answers.on("data", (chunk: Buffer) => this.#take(chunk)).on("error", () => undefined);
    for (const output of [child.stdout, child.stderr]) output?.on("data", (chunk: Buffer) => this.#complain(chunk));
    this.ended = new Promise((resolve) => {
      const end = (why: string) => {
        this.#isEnded = true;
        this.#fail(new SaltworksError("SIDECAR_FAILED", why));
        resolve();
      };
      child.once("error", (error) => end(`Python could not be started: ${error.message}`));
      child.once("exit", (code, signal) => end(endingText(code, signal)));
    });
  }

  /** Starts Python and loads Salt, which takes a second. @throws SaltworksError SIDECAR_FAILED */
  static async start(settings: SidecarSettings): Promise<PythonProcess> {
    const child = spawn(settings.python, [program], {
      cwd: "/",
      env: pythonEnvironment(settings.environment),
      stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
      detached: true,
    });
    const [, , , requests, answers] = child.stdio as unknown as [null, Readable, Readable, Duplex, Duplex];
    const started = new PythonProcess(child, requests, answers);
    const { configFile, memoryMib, user } = settings;
    try {
      await started.#send(
        {
          config_file: configFile,
          user,
          memory_mib: memoryMib,
          answer_bytes_max: sidecarAnswerBytesMax,
          printed_max: sidecarPrintedMax,
          events_max: sidecarEventsMax,
        },
        sidecarStartTimeoutMs,
      );
      return started;
    } catch (error) {
      started.end();
      const { message } = error as Error;
      const last = started.takeComplaint().trim().split("\n").at(-1) ?? "";
      throw new SaltworksError(
        "SIDECAR_FAILED",
        `Python with Salt (${settings.python}) did not start: ${message}${last === "" ? "" : `: ${last}`}`,
        {},
        { cause: error },
      );
    }
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What the process wrote to its standard output and error since the last look, cut to `sidecarComplaintMax` characters. */
  takeComplaint(): string {
    this.#complaintLength = 0;
    return this.#complaint.splice(0).join("");
  }

  /**
   * Asks. Only one question at a time. `onEvent` gets what a runner function fires meanwhile.
   *
   * @throws SaltworksError FUNCTION_FAILED with the text of Python's exception, and its traceback in `detail`
   * @throws SaltworksError SIDECAR_FAILED if the process ends, SIDECAR_TIMEOUT at the deadline: the process is killed then
   */
  async ask(request: SidecarRequest, timeoutMs: number, onEvent?: OnSidecarEvent): Promise<SidecarAnswer> {
    return await this.#send(request, timeoutMs, onEvent);
  }

  /** Kills the process and what it has started. */
  end(): void {
    this.#isEnded = true;
    const { pid } = this.#child;
    try {
      if (pid !== undefined) process.kill(-pid, "SIGKILL");
    } catch (error) {
      // ESRCH: the group has ended already.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") this.#child.kill("SIGKILL");
    }
  }

  #send(request: object, timeoutMs: number, onEvent?: OnSidecarEvent): Promise<SidecarAnswer> {
    if (this.#isEnded) return Promise.reject(new SaltworksError("SIDECAR_FAILED", "Python has ended"));
    this.#lastSerial += 1;
    const serial = this.#lastSerial;
    const body = encode({ ...request, serial } as { readonly [name: string]: Encodable }, "bin");
    const head = Buffer.alloc(headBytes);
    head.writeUInt32BE(body.byteLength);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#fail(
          new SaltworksError("SIDECAR_TIMEOUT", `Python took longer than ${Math.round(timeoutMs / 100) / 10} seconds`),
        );
        this.end();
      }, timeoutMs);
      this.#waiting = { serial, timer, onEvent, resolve, reject };
      this.#requests.write(head);
      this.#requests.write(body);
    });
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    for (let frame = this.#nextFrame(); frame !== undefined && !this.#isEnded; frame = this.#nextFrame()) {
      try {
        this.#settle(decode(frame, "text", new DecodeBudget()));
      } catch (error) {
        this.#giveUp(`Python's answer cannot be read: ${(error as Error).message}`);
      }
    }
  }

  /** Takes a whole frame from what has come. */
  #nextFrame(): Buffer | undefined {
    if (this.#bytes < headBytes) return undefined;
    if (this.#chunks[0] !== undefined && this.#chunks[0].byteLength < headBytes)
      this.#chunks = [Buffer.concat(this.#chunks)];
    const size = this.#chunks[0]?.readUInt32BE() ?? 0;
    // Python cuts what is larger, so that a longer frame is none of its own: the site's code wrote to our pipe.
    if (size > sidecarAnswerBytesMax + sidecarPrintedMax * 4) this.#giveUp("Python sent no frame of an answer");
    if (this.#bytes < headBytes + size) return undefined;
    const all = Buffer.concat(this.#chunks);
    const rest = all.subarray(headBytes + size);
    this.#chunks = rest.byteLength === 0 ? [] : [rest];
    this.#bytes = rest.byteLength;
    return all.subarray(headBytes, headBytes + size);
  }

  #giveUp(why: string): void {
    this.#fail(new SaltworksError("SIDECAR_FAILED", why));
    this.end();
  }

  #settle(answer: Value): void {
    const waiting = this.#waiting;
    if (!(answer instanceof Map) || waiting === undefined || answer.get("serial") !== waiting.serial) {
      this.#giveUp("Python answered what was not asked");
      return;
    }
    const event = answer.get("event");
    if (event instanceof Map) {
      waiting.onEvent?.({ tag: String(event.get("tag")), data: event.get("data") ?? null });
      return;
    }
    this.#waiting = undefined;
    clearTimeout(waiting.timer);
    const failure = answer.get("failure");
    const printed = String(answer.get("printed") ?? "");
    if (failure instanceof Map) waiting.reject(failureOf(failure));
    else waiting.resolve({ value: answer.get("value") ?? null, printed });
  }

  #fail(error: Error): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    clearTimeout(waiting?.timer);
    waiting?.reject(error);
  }

  #complain(chunk: Buffer): void {
    const text = chunk.toString("utf8").slice(0, Math.max(0, sidecarComplaintMax - this.#complaintLength));
    this.#complaintLength += text.length;
    if (text !== "") this.#complaint.push(text);
  }
}

function endingText(code: number | null, signal: NodeJS.Signals | null): string {
  if (code === outOfMemoryCode) return "Python ran out of memory (salt_python_memory)";
  return `Python ended by itself (${signal ?? `exit code ${code}`})`;
}

/** With which `serve.py` ends then. */
const outOfMemoryCode = 12;

function failureOf(failure: ValueMap): SaltworksError {
  const textOf = (name: string) => String(failure.get(name) ?? "");
  const [className, text, traceback] = [textOf("class"), textOf("text"), textOf("traceback")];
  const isTooLarge = failure.get("is_too_large") === true;
  const message = text === "" ? className : text;
  return new SaltworksError("FUNCTION_FAILED", message, {
    className,
    traceback,
    ...(isTooLarge ? { isTooLarge, isFatal: true } : {}),
  });
}
