/** The replies to operators' commands whose credential is refused, in the words of Salt's master. docs/protocol.md section 7.2. Pure. */
import type { Encodable } from "../../wire/values.ts";

/** Clear commands that carry a credential. It is checked before the rest of the request is read. */
export const operatorCommands = ["publish", "runner", "wheel"] as const;
export type OperatorCommand = (typeof operatorCommands)[number];
/** Kind of the refused credential. */
export type CredentialKind = "token" | "eauth" | "key";

const commands: ReadonlySet<string | undefined> = new Set(operatorCommands);

export function isOperatorCommand(command: string | undefined): command is OperatorCommand {
  return commands.has(command);
}

/** Replies to runner and wheel calls, by the kind of credential. A publish has one reply for all kinds. */
const words = {
  token: { name: "TokenAuthenticationError", message: 'Authentication failure of type "token" occurred.' },
  eauth: { name: "EauthAuthenticationError", message: 'Authentication failure of type "eauth" occurred.' },
  key: { name: "UserAuthenticationError", message: 'Authentication failure of type "user" occurred' },
} as const;
const publishWords = { name: "AuthenticationError", message: "Authentication error occurred." };

export function operatorRefusal(command: OperatorCommand, refused: CredentialKind): Encodable {
  return { error: command === "publish" ? publishWords : words[refused] };
}
