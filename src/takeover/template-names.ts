/** Names of filters and of Salt's functions that a Jinja template uses, where it writes them out. */
import { parseTemplate } from "../pillar/jinja/syntax/parser.ts";

/** `line`: of the first use. */
export type TemplateName = { readonly kind: "filter" | "function"; readonly name: string; readonly line: number };

type Node = Readonly<Record<string, unknown>>;

/** @throws SaltworksError PILLAR_FAILED with `line` for a template that is not Jinja's */
export function namesInTemplate(text: string): readonly TemplateName[] {
  const found = new Map<string, TemplateName>();
  const waiting: { readonly node: unknown; readonly line: number }[] = [
    { node: parseTemplate(text, { trimBlocks: false, lstripBlocks: false }), line: 1 },
  ];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node } = next;
    if (typeof node !== "object" || node === null) continue;
    const line = typeof (node as Node).line === "number" ? ((node as Node).line as number) : next.line;
    for (const one of namesOf(node as Node, line)) {
      const known = found.get(`${one.kind} ${one.name}`);
      if (known === undefined || one.line < known.line) found.set(`${one.kind} ${one.name}`, one);
    }
    for (const child of Object.values(node)) waiting.push({ node: child, line });
  }
  return [...found.values()].sort((a, b) => a.line - b.line);
}

function namesOf(node: Node, line: number): readonly TemplateName[] {
  const filters =
    node.kind === "filter" ? [node] : node.kind === "filterBlock" || node.kind === "capture" ? node.filters : [];
  const names = (filters as readonly Node[]).map(({ name }) => ({ kind: "filter", name: String(name), line }) as const);
  const called = node.kind === "call" ? saltFunctionOf(node.callee as Node) : undefined;
  return called === undefined ? names : [...names, { kind: "function", name: called, line }];
}

/** Of `salt['module.function']` and `salt.module.function`. */
function saltFunctionOf(callee: Node): string | undefined {
  const own = memberOf(callee);
  if (own === undefined) return undefined;
  if (isSalt(own.object)) return own.name.includes(".") ? own.name : undefined;
  const module = memberOf(own.object);
  return module !== undefined && isSalt(module.object) ? `${module.name}.${own.name}` : undefined;
}

function memberOf(node: Node): { readonly object: Node; readonly name: string } | undefined {
  const object = node.object as Node;
  if (node.kind === "attribute") return { object, name: String(node.name) };
  const key = node.kind === "item" ? (node.key as Node) : undefined;
  return key?.kind === "constant" && typeof key.value === "string" ? { object, name: key.value } : undefined;
}

function isSalt({ kind, name }: Node): boolean {
  return kind === "name" && (name === "salt" || name === "__salt__");
}
