/** Documentation texts of execution functions, in the form of Salt's docstrings: `sys.doc` and argument errors show them. */

const indent = "    ";

/**
 * @param text - paragraphs, separated by a line feed
 * @param examples - command lines after `salt '*' `, e.g. `test.echo 'foo'`
 */
export function describe(text: string, ...examples: readonly string[]): string {
  const paragraphs = text.split("\n").map((paragraph) => `${indent}${paragraph}\n`);
  if (examples.length === 0) return `\n${paragraphs.join("\n")}${indent}`;
  const commands = examples.map((example) => `${indent}${indent}salt '*' ${example}\n`);
  return `\n${paragraphs.join("\n")}\n${indent}CLI Example:\n\n${indent}.. code-block:: bash\n\n${commands.join("")}${indent}`;
}
