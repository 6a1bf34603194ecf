/**
 * Client of the event bus: subscribes to its events, or fires some into it.
 * Source: docs/protocol.md section 10.2.
 */
import { createConnection, type Socket } from "node:net";
import { hasCode, SaltworksError } from "../errors.ts";
import { ipcConnectTimeoutMs } from "../limits.ts";
import { type EventFrame, FrameReader, frameEvent } from "../wire/event.ts";
import { ownPathOf } from "./socket-path.ts";

export type SubscriberOptions = {
  /** How long connecting may take. */
  timeoutMs?: number;
  /**
   * One event. The receiver may keep the body. `isMasters`: the frame bears the master's mark, which a minion cannot forge. A Salt master marks no
   * events, so all events on its bus count as the master's.
   */
  onEvent: (body: Uint8Array, isMasters: boolean) => void;
  /** The stream ended. `error`: a malformed frame or a failed connection; undefined if the master closed it. Not called after `close()`. */
  onClose: (error?: Error) => void;
};

export class EventSubscriber {
  readonly #socket: Socket;
  readonly #isMarked: boolean;

  private constructor({ socket, isMarked }: Connected) {
    this.#socket = socket;
    this.#isMarked = isMarked;
  }

  /**
   * Resolves when connected: every event published from then on arrives.
   *
   * @param pubPath Salt's socket. If the master has our own socket beside it, that one is used
   * @throws SaltworksError MASTER_UNREACHABLE if no process listens or the connection takes too long
   */
  static async connect(pubPath: string, options: SubscriberOptions): Promise<EventSubscriber> {
    const subscriber = new EventSubscriber(await connectToEither(pubPath, options.timeoutMs ?? ipcConnectTimeoutMs));
    subscriber.#follow(options);
    return subscriber;
  }

  /** Neither `onEvent` nor `onClose` is called after it. */
  close(): void {
    this.#socket.removeAllListeners("data").removeAllListeners("close");
    this.#socket.destroy();
  }

  #follow(options: SubscriberOptions): void {
    const reader = new FrameReader();
    let failure: Error | undefined;
    this.#socket.on("error", (error) => {
      failure = error;
    });
    this.#socket.once("close", () => options.onClose(failure));
    this.#socket.on("data", (chunk: Buffer) => {
      let frames: EventFrame[];
      try {
        frames = reader.frames(chunk);
      } catch (error) {
        this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      for (const { body, isMasters } of frames) {
        if (this.#socket.destroyed) return;
        options.onEvent(body, isMasters || !this.#isMarked);
      }
    });
  }
}

/**
 * Fires event bodies into the bus and resolves when all have been handed to the system.
 *
 * @throws SaltworksError MASTER_UNREACHABLE if no process listens or takes them within `timeoutMs`
 */
export async function fireEvents(
  pullPath: string,
  bodies: readonly Uint8Array[],
  timeoutMs: number = ipcConnectTimeoutMs,
): Promise<void> {
  const socket = await connect(pullPath, timeoutMs);
  await new Promise<void>((resolve, reject) => {
    socket.setTimeout(timeoutMs, () => socket.destroy(unreachable(pullPath, "does not take events")));
    socket.once("error", reject);
    socket.once("close", () => resolve());
    for (const body of bodies) socket.write(frameEvent(body));
    socket.end(() => socket.destroy());
  });
}

/** `isMarked`: the frames mark the master's own events. */
type Connected = { readonly socket: Socket; readonly isMarked: boolean };

/** A Salt master has Salt's socket only. The file of ours may be left over from a former master. */
async function connectToEither(pubPath: string, timeoutMs: number): Promise<Connected> {
  const ownPath = ownPathOf(pubPath);
  if (ownPath !== undefined) {
    try {
      return { socket: await connect(ownPath, timeoutMs), isMarked: true };
    } catch (error) {
      // Only the other socket's error is reported.
      if (!hasCode(error, "MASTER_UNREACHABLE")) throw error;
    }
  }
  return { socket: await connect(pubPath, timeoutMs), isMarked: false };
}

function connect(path: string, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    const timer = setTimeout(() => socket.destroy(unreachable(path, "does not answer")), timeoutMs);
    const onError = (error: Error): void => {
      clearTimeout(timer);
      reject(error instanceof SaltworksError ? error : unreachable(path, "has no listener", error));
    };
    socket.once("error", onError);
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.off("error", onError);
      resolve(socket);
    });
  });
}

function unreachable(path: string, what: string, cause?: Error): SaltworksError {
  return new SaltworksError("MASTER_UNREACHABLE", `${path} ${what}`, { path }, cause ? { cause } : {});
}
