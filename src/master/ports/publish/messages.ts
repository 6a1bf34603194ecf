/** All messages between the main thread and the publish thread. Types only. */
import type { Keepalive } from "../../../transport/keepalive.ts";
import type { ListenOn } from "../../../transport/zmtp/listening.ts";
import type { SubscriberCloseReason } from "../../../transport/zmtp/publish/subscriber.ts";

/** The thread's start data. */
export type PublishStart = {
  readonly on: ListenOn;
  readonly backlog: number;
  readonly keepalive: Keepalive;
  readonly highWaterMark: number;
  readonly connectionsMax: number;
  readonly addressConnectionsMax: number;
  /** As the operator wrote them. */
  readonly proxies: readonly unknown[];
};

/**
 * The buffer of `payload` is transferred. Without `topic` and `ids` it goes to all. `ids`: it is sent once for each minion, with the minion's topic, and
 * once with `topic`.
 */
export type PublishTask =
  | {
      readonly kind: "publish";
      readonly payload: Uint8Array;
      readonly topic?: string;
      readonly ids?: readonly string[];
    }
  | { readonly kind: "look" }
  | { readonly kind: "close"; readonly lingerMs: number };

/** Counters since the thread's start, and what it holds now. */
export type PublishStats = {
  readonly accepted: number;
  readonly messages: number;
  readonly sent: number;
  readonly dropped: number;
  readonly closed: Readonly<Record<SubscriberCloseReason, number>>;
  readonly connections: number;
  readonly subscribers: number;
  readonly behind: number;
  readonly heldBytes: number;
};

/** `taken`: the oldest handed publish was passed to the sockets. `failed`: the port cannot be opened or was lost. */
export type PublishReport =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "taken" }
  | { readonly kind: "stats"; readonly stats: PublishStats }
  | { readonly kind: "failed"; readonly errno: string | undefined; readonly text: string };
