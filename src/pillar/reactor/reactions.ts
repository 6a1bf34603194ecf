/**
 * Renders the files that `reactor` names for an event, with the event's `tag` and `data`, and compiles them to reactions.
 * Source: the reactor of Salt 3007.
 */
import { hasCode, SaltworksError } from "../../errors.ts";
import { reactionsOfEventMax } from "../../limits.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { faultText } from "../fault-text.ts";
import { decryptionExcept } from "../gpg/decrypt.ts";
import { filesNamed } from "../input/file-glob.ts";
import { type PillarFile, PillarFiles } from "../input/files.ts";
import type { PillarSettings } from "../input/settings.ts";
import { asFault } from "../jinja/values/objects.ts";
import { SlsRenderer } from "../sls.ts";
import { highFaults, type LowChunk, lowChunks, padded } from "./low-data.ts";

/** `faults`: sentences for the log, without values of the event. */
export type RenderedReactions = { readonly chunks: readonly LowChunk[]; readonly faults: readonly string[] };

const served = "salt://";

export class ReactionRenderer {
  readonly #settings: PillarSettings;
  readonly #masterId: string;
  readonly #files = new PillarFiles();
  readonly #renderer: SlsRenderer;

  constructor(settings: PillarSettings, masterId: string) {
    this.#settings = settings;
    // As in Salt, templates import others from the file roots of `base`.
    this.#renderer = new SlsRenderer({ ...settings, roots: settings.fileRoots }, this.#files);
    this.#masterId = masterId;
  }

  /** Never throws for what files and events hold. A file that fails leaves the others, as in Salt. */
  reactions(tag: string, data: ValueMap, references: readonly string[]): RenderedReactions {
    const high: ValueMap = new Map();
    const faults: string[] = [];
    for (const reference of references) {
      const paths = this.#paths(reference, faults);
      if (paths.length === 0) faults.push(`Can not render SLS ${reference}. File missing or not found.`);
      for (const path of paths) this.#render(path, tag, data, high, faults);
    }
    const invalid = highFaults(high);
    if (invalid.length > 0) return { chunks: [], faults: [...faults, ...invalid] };
    const chunks = lowChunks(high);
    if (chunks.length <= reactionsOfEventMax) return { chunks, faults };
    return { chunks: [], faults: [...faults, `${chunks.length} reactions, more than ${reactionsOfEventMax}`] };
  }

  #paths(reference: string, faults: string[]): readonly string[] {
    try {
      return filesNamed(reference.startsWith(served) ? this.#servedFile(reference) : reference);
    } catch (error) {
      faults.push(`Can not render SLS ${reference}: ${(error as Error).message}`);
      return [];
    }
  }

  /** A file of the master's own file roots. */
  #servedFile(reference: string): string {
    const [path = "", query = ""] = reference.slice(served.length).split("?", 2);
    const environment = new URLSearchParams(query).get("saltenv") ?? "base";
    return this.#files.read(this.#settings.fileRoots.get(environment) ?? [], path)?.path ?? "";
  }

  #render(path: string, tag: string, data: ValueMap, high: ValueMap, faults: string[]): void {
    try {
      const file = this.#files.readAt(path);
      if (file === undefined) throw new SaltworksError("PILLAR_FAILED", "not a file");
      const rendered = padded(this.#renderFile(file, tag, data, faults), path, (text) =>
        faults.push(`${path}: ${text}`),
      );
      for (const [id, body] of rendered) high.set(id, body);
    } catch (raised) {
      const error = asFault(raised);
      if (!hasCode(error, "PILLAR_FAILED")) throw error;
      const named = "file" in (error as object) ? error : Object.assign(error as object, { file: path });
      faults.push(`Failed to render: ${faultText(named as SaltworksError)}`);
    }
  }

  #renderFile(file: PillarFile, tag: string, data: ValueMap, faults: string[]): Value {
    const masterId = this.#masterId;
    const minion = { id: masterId, grains: new Map<Value, Value>([["id", masterId]]) };
    const decryption = decryptionExcept(data, (fault) => faults.push(`${file.path}: ${fault}`));
    const context = { minion, saltenv: "base", pillarenv: undefined, opts: undefined, decryption };
    const names = new Map<Value, Value>([
      ["tag", tag],
      ["data", data],
    ]);
    const path = file.path.slice(file.path.lastIndexOf("/") + 1);
    return this.#renderer.render(context, file, { path, sls: "", environment: "base" }, names);
  }
}
