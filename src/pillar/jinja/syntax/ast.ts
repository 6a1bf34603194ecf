/** The tree of a parsed template. `line` is 1-based and goes into messages. */

export type Expression = { readonly line: number } & (
  | {
      readonly kind: "constant";
      readonly value: null | boolean | number | bigint | string | { readonly float: number };
    }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "list" | "tuple"; readonly items: readonly Expression[] }
  | { readonly kind: "dict"; readonly pairs: readonly (readonly [Expression, Expression])[] }
  | { readonly kind: "unary"; readonly operator: "not" | "-" | "+"; readonly operand: Expression }
  | {
      readonly kind: "binary";
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: "logic"; readonly operator: "and" | "or"; readonly left: Expression; readonly right: Expression }
  | { readonly kind: "compare"; readonly first: Expression; readonly rest: readonly Comparison[] }
  | { readonly kind: "concat"; readonly items: readonly Expression[] }
  | {
      readonly kind: "condition";
      readonly test: Expression;
      readonly whenTrue: Expression;
      readonly otherwise: Expression | undefined;
    }
  | { readonly kind: "attribute"; readonly object: Expression; readonly name: string }
  | { readonly kind: "item"; readonly object: Expression; readonly key: Expression }
  | {
      readonly kind: "slice";
      readonly object: Expression;
      readonly start: Expression | undefined;
      readonly stop: Expression | undefined;
      readonly step: Expression | undefined;
    }
  | { readonly kind: "call"; readonly callee: Expression; readonly args: Arguments }
  | { readonly kind: "filter"; readonly name: string; readonly input: Expression; readonly args: Arguments }
  | { readonly kind: "test"; readonly name: string; readonly input: Expression; readonly args: Arguments }
);

export type BinaryOperator = "+" | "-" | "*" | "/" | "//" | "%" | "**";
export type CompareOperator = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in";
export type Comparison = { readonly operator: CompareOperator; readonly operand: Expression };

/** Arguments of a call. `spread` is `*list`, `spreadNamed` is `**map`. */
export type Arguments = {
  readonly positional: readonly Expression[];
  readonly named: readonly (readonly [string, Expression])[];
  readonly spread: Expression | undefined;
  readonly spreadNamed: Expression | undefined;
};

/** A target of `=` or `for`. */
export type AssignTarget =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "member"; readonly object: string; readonly name: string }
  | { readonly kind: "names"; readonly items: readonly AssignTarget[] };

export type Parameter = { readonly name: string; readonly fallback: Expression | undefined };
export type MacroParts = {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly body: readonly Statement[];
};
export type Branch = { readonly test: Expression; readonly body: readonly Statement[] };
export type FilterStep = { readonly name: string; readonly args: Arguments; readonly line: number };

export type Statement = { readonly line: number } & (
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "output"; readonly expression: Expression }
  | { readonly kind: "do"; readonly expression: Expression }
  | { readonly kind: "if"; readonly branches: readonly Branch[]; readonly otherwise: readonly Statement[] }
  | {
      readonly kind: "for";
      readonly target: AssignTarget;
      readonly over: Expression;
      readonly test: Expression | undefined;
      readonly isRecursive: boolean;
      readonly body: readonly Statement[];
      readonly otherwise: readonly Statement[];
    }
  | { readonly kind: "break" | "continue" }
  | { readonly kind: "set"; readonly target: AssignTarget; readonly value: Expression }
  | {
      readonly kind: "capture";
      readonly target: AssignTarget;
      readonly filters: readonly FilterStep[];
      readonly body: readonly Statement[];
    }
  | {
      readonly kind: "with";
      readonly assignments: readonly (readonly [AssignTarget, Expression])[];
      readonly body: readonly Statement[];
    }
  | ({ readonly kind: "macro" } & MacroParts)
  | { readonly kind: "callBlock"; readonly call: Expression; readonly caller: MacroParts }
  | { readonly kind: "filterBlock"; readonly filters: readonly FilterStep[]; readonly body: readonly Statement[] }
  | {
      readonly kind: "include";
      readonly template: Expression;
      readonly isWithContext: boolean;
      readonly isMissingIgnored: boolean;
    }
  | {
      readonly kind: "import";
      readonly template: Expression;
      readonly isWithContext: boolean;
      readonly name: string;
      /** The format of `import_yaml`, `import_json` and `import_text`. */
      readonly load: string | undefined;
    }
  | {
      readonly kind: "fromImport";
      readonly template: Expression;
      readonly isWithContext: boolean;
      readonly names: readonly (readonly [name: string, alias: string])[];
    }
);
