"""The model beside a router: events go to both, and outputs are judged."""
