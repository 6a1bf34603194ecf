/** Filters and names of entries with a user's name in them: `(uid={{ username }})`. Sources: RFC 4514 and RFC 4515. Pure. */

const place = /\{\{\s*username\s*\}\}/g;

/** What a template has that is not built here; Salt's may hold any Jinja. */
export function filterTemplateFault(template: string): string | undefined {
  return /\{[{%#]/.test(template.replaceAll(place, "")) ? "only {{ username }} is available here" : undefined;
}

/** A value as a filter takes it. */
export function escapeFilter(value: string): string {
  return value.replaceAll(/[\\*()\0]/g, (char) => `\\${char.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** A value as a part of an entry's name takes it. */
export function escapeDn(value: string): string {
  return value
    .replaceAll(/[\\,+"<>;=]/g, (char) => `\\${char}`)
    .replace(/^[ #]/, (char) => `\\${char}`)
    .replace(/ $/, "\\ ");
}

/** A filter for this user. */
export function filterFor(template: string, username: string): string {
  const filter = template.replaceAll(place, () => escapeFilter(username));
  return filter.startsWith("(") ? filter : `(${filter})`;
}

/**
 * The name that a user's bind gives: an entry's, or another form such as `{{ username }}@corp.example`.
 *
 * @returns undefined for a user's name that would mean more than a name in such a form
 */
export function bindNameFor(template: string, username: string): string | undefined {
  if (template.includes("=")) return template.replaceAll(place, () => escapeDn(username));
  return /^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u.test(username) ? template.replaceAll(place, () => username) : undefined;
}

/**
 * The values that a filter asks of attributes for this user, by attribute in lower case. Directories compare without regard to case and to spaces,
 * and permissions with it, so that the entry has to spell the name as the user does.
 */
export function valuesAsked(template: string, username: string): ReadonlyMap<string, string> {
  const asked = new Map<string, string>();
  for (const [, name = "", value = ""] of template.matchAll(/([\w.;-]+)=([^()]*)/g))
    if (value.match(place) !== null && !value.includes("*"))
      asked.set(
        name.toLowerCase(),
        value.replaceAll(place, () => username),
      );
  return asked;
}

/** The value of the first part of an entry's name. */
export function firstValueOf(dn: string): string {
  const first = /^[^=]*=((?:\\.|[^,+\\])*)/.exec(dn)?.[1] ?? "";
  return first.replaceAll(/((?:\\[0-9a-fA-F]{2})+)|\\(.)/g, (_, bytes: string | undefined, char: string | undefined) =>
    bytes === undefined ? (char ?? "") : Buffer.from(bytes.replaceAll("\\", ""), "hex").toString("utf8"),
  );
}
