/**
 * `auth_sql` as a prepared statement. Salt puts name and password into the text of the statement, where a quotation mark in them ends a literal. Here
 * each `{0}` and `{1}` becomes a parameter, and a literal around it becomes a CONCAT. Pure.
 */

/** `values`: for each parameter, whether the name (0) or the password (1) stands there. */
export type AuthSql = { readonly sql: string; readonly values: readonly (0 | 1)[] };

/** A literal or a quoted identifier with doubled and escaped marks, a comment, a placeholder, a doubled brace, or another character. */
const tokens =
  /'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`|--[^\n]*|#[^\n]*|\/\*.*?\*\/|\{\{|\}\}|\{[^{}]*\}|./gs;
const places = /\{\{|\}\}|\{[^{}]*\}|[{}]/g;

/** @throws Error for a placeholder that is not `{0}` or `{1}`, or stands where a value cannot */
export function readAuthSql(template: string): AuthSql {
  const values: (0 | 1)[] = [];
  const sql = (template.match(tokens) ?? []).map((token) => {
    if (!token.includes("{") && !token.includes("}")) return token;
    if (/^(?:--|#|\/\*|`)/.test(token)) throw new Error("a placeholder stands in a comment or in a name");
    if (!/^["']/.test(token)) return token === "{{" ? "{" : token === "}}" ? "}" : parameter(token, values);
    return literal(token, values);
  });
  if (!values.includes(0) || !values.includes(1))
    throw new Error("auth_sql has to compare the name {0} and the password {1}");
  return { sql: sql.join(""), values };
}

function parameter(place: string, values: (0 | 1)[]): "?" {
  const number = place === "{0}" ? 0 : place === "{1}" ? 1 : undefined;
  if (number === undefined) throw new Error(`auth_sql knows {0} and {1}, not ${place}`);
  values.push(number);
  return "?";
}

function literal(token: string, values: (0 | 1)[]): string {
  const mark = token.slice(0, 1);
  const text = token.slice(1, -1);
  const parts: string[] = [];
  let kept = "";
  let end = 0;
  for (const match of text.matchAll(places)) {
    kept += text.slice(end, match.index);
    end = match.index + match[0].length;
    if (match[0] === "{{" || match[0] === "}}") kept += match[0].slice(1);
    else {
      if (kept !== "") parts.push(mark + kept + mark);
      kept = "";
      parts.push(parameter(match[0], values));
    }
  }
  kept += text.slice(end);
  if (kept !== "" || parts.length === 0) parts.push(mark + kept + mark);
  return parts.length === 1 ? (parts[0] ?? "") : `CONCAT(${parts.join(", ")})`;
}
