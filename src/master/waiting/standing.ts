/** The standing of a request: what the main thread can tell of its right before a worker has proved anything. */
import { clearFrameBytesMax, credentialLoadBytesMax } from "../../limits.ts";
import type { ClearHead } from "../../wire/request.ts";
import { isOperatorCommand } from "../../workers/requests/operator-refusal.ts";
import type { Route } from "./route.ts";

/**
 * `proven`: over a connection that has proved itself, or a clear request with a right key. `named`: sealed, of an id with an accepted key or of an older
 * release, whose id only a worker can see. `stranger`: anything else. `large`: only a worker can tell, and the request is too large for an ordinary batch.
 */
export const standings = ["proven", "named", "stranger", "large"] as const;
export type Standing = (typeof standings)[number];

export type StandingQuestions = {
  readonly isAccepted: (id: string) => boolean;
  /** Whether a clear load's key belongs to the named user. */
  readonly hasRightKey: (user: string | undefined, key: Uint8Array) => boolean;
};

/** Undefined for a request that is too large for its command and is refused unread. */
export function standingOf(
  route: Route,
  frameBytes: number,
  isPeerProven: boolean,
  { isAccepted, hasRightKey }: StandingQuestions,
): Standing | undefined {
  if (isPeerProven) return "proven";
  const isLarge = frameBytes > clearFrameBytesMax;
  switch (route.kind) {
    case "auth":
      // A worker refuses one that is too large for its own queue, in Salt's words.
      return "stranger";
    case "sealed": {
      const isNamed = route.id === undefined || isAccepted(route.id);
      if (isNamed) return isLarge ? "large" : "named";
      break;
    }
    case "clear": {
      const { head } = route;
      if (head?.key !== undefined && hasRightKey(head.user, head.key)) return "proven";
      if (isLarge && (head === undefined || mayBringLogin(head, frameBytes))) return "large";
      break;
    }
  }
  return isLarge ? undefined : "stranger";
}

/** Whether a large request without a right key may still be an operator's, by token or password. */
function mayBringLogin({ cmd, login }: ClearHead, frameBytes: number): boolean {
  if (!isOperatorCommand(cmd) || login === undefined) return false;
  return login !== "eauth" || frameBytes <= credentialLoadBytesMax;
}
