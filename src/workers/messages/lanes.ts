/** What the main thread asks of the lanes for RSA, files and Salt's own files, and what they answer. Types only. */
import type { MasterConfig } from "../../config/load.ts";
import type { PushRefusal, Usage } from "../../fileserver/pushed/usage.ts";
import type { MinionLayout } from "../../store/salt/minion-files.ts";

/** Reply i ends at `ends[i]` and starts where reply i - 1 ends. An empty reply could not be made. */
export type AuthReplies = { readonly bytes: Uint8Array; readonly ends: Uint32Array };

/** RSA work of a `_pillar` reply, docs/protocol.md section 2.3. `pillar`: the pillar map in network encoding. */
export type PillarReplyTask = {
  readonly kind: "pillarReply";
  readonly version: number;
  readonly nonce: string | undefined;
  readonly encAlgorithm: string;
  readonly sigAlgorithm: string;
  readonly minionPem: string;
  readonly pillar: Uint8Array;
};

/** A request for files, or with a file (`_file_recv`). `load`: its map as it came. `id`: the minion, if it has proved itself. */
export type FileTask = { readonly cmd: string; readonly load: Uint8Array; readonly id: string | undefined };

/** `answer`: in network encoding; its memory is transferred. */
export type FileResult = {
  readonly answer: Uint8Array<ArrayBuffer>;
  /** For a pushed piece: the bound that refused it, and the size of all minions' pushed files once that is known. */
  readonly push?: { readonly refusedBy: PushRefusal | undefined; readonly total: Readonly<Usage> | undefined };
};

export type FileStart = { readonly config: MasterConfig };

/** One step each. `mirror`: updates Salt's files. `takeJobs`: takes over jobs of a Salt master whose directories changed after `sinceMs`. */
export type SaltTask =
  | { readonly kind: "mirror" }
  | { readonly kind: "takeJobs"; readonly sinceMs: number; readonly olderThanJid: string; readonly isBrief?: boolean };

/** `storeFaults`: of our own store, met since the last answer, for the log. */
export type SaltAnswer<Step> = Step & { readonly storeFaults: readonly string[] };
export type TakenJobs = {
  readonly taken: number;
  /** `faults` names the first few of them. */
  readonly leftOut: number;
  readonly isDone: boolean;
  readonly faults: readonly { readonly file: string; readonly reason: string }[];
};

export type SaltStart = {
  readonly config: MasterConfig;
  readonly feedFile: string;
  readonly layouts: readonly MinionLayout[];
};

export type RsaTask =
  | {
      readonly kind: "authReplies";
      readonly auths: ArrayBuffer;
      readonly aes: string;
      readonly aesSignature: Uint8Array;
    }
  | PillarReplyTask
  | { readonly kind: "sign"; readonly data: Uint8Array; readonly algorithm: string }
  | { readonly kind: "signMasterKey"; readonly aes: string };

export type RsaStart = {
  readonly config: MasterConfig;
  readonly masterPrivatePem: string;
  readonly masterPublicPem: string;
  /** Private key that signs the master's public key (`master_sign_pubkey`), if configured. */
  readonly signingPrivatePem: string | undefined;
  /** Contents of the pre-computed signature file (`master_use_pubkey_signature`), if configured. */
  readonly publicKeySignature: Uint8Array | undefined;
};
