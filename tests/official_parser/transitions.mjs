// Reads {"id", "text"} a line from standard input and writes what one release of Mermaid makes of each diagram:
// {"id", "version", "error", "states": [id], "transitions": [[from, to, label or null]]}.
//
//   node transitions.mjs mermaid-newest < diagrams.jsonl
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { JSDOM } from 'jsdom';

const release = process.argv[2];
const require = createRequire(import.meta.url);
const manifest = require.resolve(`${release}/package.json`);
const { version, module: entry } = JSON.parse(readFileSync(manifest, 'utf8'));

// Mermaid's sanitizer wants a browser's document.
const { window } = new JSDOM('<!doctype html><body></body>', { pretendToBeVisual: true });
globalThis.window = window;
for (const name of Object.getOwnPropertyNames(window)) {
  if (/^(document|Element|HTML\w*Element|SVG\w*|Node|NodeFilter|NamedNodeMap|Document\w*|DOMParser|XMLSerializer|MutationObserver|CSSStyleSheet)$/.test(name) && !(name in globalThis)) {
    globalThis[name] = window[name];
  }
}
const { default: mermaid } = await import(pathToFileURL(join(dirname(manifest), entry)).href);
mermaid.initialize({ startOnLoad: false, logLevel: 5 });

// Mermaid keeps an entity as two marks around its number until it draws.
const shown = (text) => text?.replace(/\uFB02°°(\d+)¶ß/g, (_, number) => String.fromCodePoint(Number(number))) ?? null;

function collect(statements, states, transitions) {
  for (const statement of statements ?? []) {
    if (statement.stmt === 'relation') {
      const { state1, state2, description } = statement;
      transitions.push([shown(state1.id), shown(state2.id), description === undefined ? null : shown(description)]);
      states.add(shown(state1.id)).add(shown(state2.id));
    } else if (statement.stmt === 'state') {
      states.add(shown(statement.id));
      collect(statement.doc, states, transitions);
    }
  }
}

for (const line of readFileSync(0, 'utf8').split('\n')) {
  if (!line) continue;
  const { id, text } = JSON.parse(line);
  const told = { id, version, error: null, states: [], transitions: [] };
  try {
    await mermaid.parse(text);
    const diagram = await mermaid.mermaidAPI.getDiagramFromText(text);
    if (!diagram.type.startsWith('stateDiagram')) throw new Error(`taken for a ${diagram.type}`);
    const states = new Set();
    collect(structuredClone(diagram.db.rootDoc ?? diagram.db.getRootDoc()), states, told.transitions);
    told.states = [...states];
  } catch (error) {
    told.error = String(error?.message ?? error);
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
