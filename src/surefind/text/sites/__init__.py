"""Sites: the URLs that documentation tools give to pages, and their Markdown extensions.

Each tool has a folder here with a class that implements `surefind.ports.Site`. To add one, also
name its configuration files in `surefind.adapters.sources.site_folder`.
"""
