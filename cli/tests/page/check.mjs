// Opens every page of a folder in headless Chromium and checks what a reader and an attacker would
// notice. Usage: node check.mjs CHROMIUM FOLDER [SCREENSHOTS]
import { chromium } from 'playwright-core';
import { createRequire } from 'node:module';
import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import path from 'node:path';

const [, , executablePath, folder, screenshots] = process.argv;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const views = [
  { width: 400, scheme: 'light' },
  { width: 400, scheme: 'dark' },
  { width: 1280, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
];
const problems = [];

// Whatever is drawn has children and a size, and stays inside the page.
function charts() {
  const all = [...document.querySelectorAll('svg.chart')];
  const bad = [];
  for (const chart of all) {
    const name = chart.getAttribute('aria-label');
    const { width, height } = chart.getBoundingClientRect();
    if (!name) bad.push('a chart has no name');
    if (chart.childElementCount === 0 || width < 100 || height < 15) bad.push(`${name} is not drawn`);
    const edge = document.documentElement.clientWidth + 0.5;
    for (const part of chart.querySelectorAll('text, rect')) {
      const box = part.getBoundingClientRect();
      if (box.right > edge || box.left < -0.5) bad.push(`${name}: ${part.textContent || part.tagName} sticks out`);
    }
    // Names on the left do not run into figures on the right.
    const texts = [...chart.querySelectorAll('text.name, text.figure')].map((text) => text.getBoundingClientRect());
    for (let at = 0; at + 1 < texts.length; at += 2) {
      if (texts[at + 1].width > 0 && texts[at].right > texts[at + 1].left) bad.push(`${name}: a name covers its figure`);
    }
  }
  return { count: all.length, bad };
}

async function check(browser, file, { width, scheme }) {
  const where = `${path.basename(file)} at ${width} px, ${scheme}`;
  const fail = (problem) => problems.push(`${where}: ${problem}`);
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
  const page = await context.newPage();
  const requests = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => fail(`console: ${message.text()}`));
  page.on('pageerror', (error) => fail(`error: ${error.message}`));
  page.on('dialog', async (dialog) => {
    fail(`a dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  await page.goto(pathToFileURL(file).href);
  await page.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));

  const extra = requests.filter((url) => url !== pathToFileURL(file).href);
  if (extra.length > 0) fail(`requests ${extra.join(', ')}`);
  const scripts = await page.evaluate(() => document.querySelectorAll('script, img, iframe, link, object').length);
  if (scripts > 0) fail(`${scripts} elements that load or run something`);
  const handlers = await page.evaluate(() =>
    [...document.querySelectorAll('*')].flatMap((one) => one.getAttributeNames()).filter((name) => name.startsWith('on') || name === 'style'));
  if (handlers.length > 0) fail(`attributes ${handlers.join(', ')}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  if (wide > width) fail(`scrolls sideways: ${wide} px`);
  const { count, bad } = await page.evaluate(charts);
  bad.forEach(fail);
  if (count === 0) fail('no chart');
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const sum = background.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
  if ((sum < 384) !== (scheme === 'dark')) fail(`the background is ${background}`);

  // The page's own policy forbids scripts, so axe runs outside of it: in a context without it.
  const open = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, bypassCSP: true });
  const judged = await open.newPage();
  await judged.goto(pathToFileURL(file).href);
  await judged.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
  await judged.evaluate(axe);
  const result = await judged.evaluate(() => globalThis.axe.run());
  for (const violation of result.violations) {
    fail(`axe: ${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 3).map((node) => node.target.join(' ')).join('; ')}`);
  }
  if (result.passes.length < 10) fail(`axe checked only ${result.passes.length} rules`);
  if (screenshots) {
    mkdirSync(screenshots, { recursive: true });
    const name = `${path.basename(file, '.html')}-${width}-${scheme}.png`;
    await page.screenshot({ path: path.join(screenshots, name), fullPage: true });
  }
  await context.close();
  await open.close();
  return count;
}

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const files = readdirSync(folder).filter((name) => name.endsWith('.html')).sort();
let drawn = 0;
for (const name of files) {
  for (const view of views) drawn += await check(browser, path.join(folder, name), view);
}
// As it is printed.
for (const name of files) {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(path.join(folder, name)).href);
  const pdf = await page.pdf({ format: 'A4' });
  if (pdf.length < 10_000) problems.push(`${name}: printed on ${pdf.length} bytes`);
  await page.close();
}
await browser.close();
if (files.length === 0) problems.push('no page');
problems.forEach((problem) => console.error(problem));
console.log(`${files.length} pages in ${views.length} views, ${drawn} charts drawn`);
process.exit(problems.length > 0 ? 1 : 0);
