import starlight from '@astrojs/starlight';
import { defineConfig } from 'astro/config';

export default defineConfig({
  site: 'https://docs.example.com',
  base: '/product',
  telemetry: false,
  integrations: [
    starlight({
      title: 'Kiosk',
      pagefind: false,
      defaultLocale: 'root',
      locales: { root: { label: 'English', lang: 'en' }, de: { label: 'Deutsch' } },
    }),
  ],
});
