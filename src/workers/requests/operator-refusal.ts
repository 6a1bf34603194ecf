/** Answers to operators' commands with a refused credential, in the words of Salt's master. docs/protocol.md section 7.2. Pure. */
import type { Encodable } from "../../wire/values.ts";

/** Clear commands with a credential, which is read before the rest of the request. */
export const operatorCommands = ["publish", "runner", "wheel"] as const;
export type OperatorCommand = (typeof operatorCommands)[number];
/** Kind of the refused credential. */
export type CredentialKind = "token" | "eauth" | "key";

const commands: ReadonlySet<string | undefined> = new Set(operatorCommands);

export function isOperatorCommand(command: string | undefined): command is OperatorCommand {
  return commands.has(command);
}

/** For runners and wheel functions. A publish has the same words for each kind. */
const words = {
  token: { name: "TokenAuthenticationError", message: 'Authentication failure of type "token" occurred.' },
  eauth: { name: "EauthAuthenticationError", message: 'Authentication failure of type "eauth" occurred.' },
  key: { name: "UserAuthenticationError", message: 'Authentication failure of type "user" occurred' },
} as const;
const publishWords = { name: "AuthenticationError", message: "Authentication error occurred." };

export function operatorRefusal(command: OperatorCommand, refused: CredentialKind): Encodable {
  return { error: command === "publish" ? publishWords : words[refused] };
}
