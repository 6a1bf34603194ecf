/** Names that a template sees. Each loop pass, macro and `with` has a scope inside the one around it. */

import { type Item, iterate } from "../../../python/values.ts";
import type { AssignTarget } from "../syntax/ast.ts";
import { fault, Namespace, typeFault } from "../values/objects.ts";

export class Scope {
  readonly #names = new Map<string, Item>();
  readonly #outer: Scope | undefined;

  constructor(outer?: Scope, names: Iterable<readonly [string, Item]> = []) {
    this.#outer = outer;
    for (const [name, item] of names) this.#names.set(name, item);
  }

  get(name: string): Item | undefined {
    for (let scope: Scope | undefined = this; scope !== undefined; scope = scope.#outer) {
      const found = scope.#names.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  set(name: string, item: Item): void {
    this.#names.set(name, item);
  }

  /** Names that an import gets: those without a leading underscore. */
  *exports(): Generator<readonly [string, Item]> {
    for (const entry of this.#names) if (!entry[0].startsWith("_")) yield entry;
  }
}

/** `target = item`, with Python's unpacking. @throws PILLAR_FAILED */
export function assign(scope: Scope, target: AssignTarget, item: Item): void {
  switch (target.kind) {
    case "name":
      scope.set(target.name, item);
      return;
    case "member": {
      const namespace = scope.get(target.object);
      if (!(namespace instanceof Namespace)) throw fault("template", "cannot assign attribute on non-namespace object");
      namespace.members.set(target.name, item);
      return;
    }
    case "names": {
      const items = iterate(item);
      const wanted = target.items.length;
      if (items.length > wanted) throw typeFault(`too many values to unpack (expected ${wanted})`);
      if (items.length < wanted)
        throw typeFault(`not enough values to unpack (expected ${wanted}, got ${items.length})`);
      for (const [index, inner] of target.items.entries()) assign(scope, inner, items[index] ?? null);
      return;
    }
  }
}
